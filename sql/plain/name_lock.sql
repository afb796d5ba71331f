-- Locks the row of a name until the transaction ends. The row must have been created before.
{lock};
