-- Locks a lease until the transaction ends, so that no session can end it before.
{fence};
