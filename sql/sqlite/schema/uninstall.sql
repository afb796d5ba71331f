-- Removes rowlock's own views and tables. drop_object.sql drops the table of technique insert, if
-- rowlock created it.

DROP VIEW IF EXISTS {view};
DROP TABLE IF EXISTS {table};
DROP TABLE IF EXISTS rowlock_meta;
