-- Removes rowlock's tables.

DROP TABLE rowlock_meta;
DROP TABLE {table};
{farewell}
