-- Locks the row of a name until the transaction ends. No row: it must be created first.
{lock};
