-- Locks the row of a name, or fails at once.
{try};
