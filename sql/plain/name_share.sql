-- Locks the row of a name in shared mode.
{share};
