-- Returns the reason why locks on this server would be unsafe, or NULL.
{server};
