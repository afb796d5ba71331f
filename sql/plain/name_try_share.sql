-- Locks the row of a name in shared mode, or fails at once.
{try_share};
