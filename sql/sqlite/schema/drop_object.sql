-- Technique insert: drops the table that rowlock created (rowlock_meta.owned).
DROP TABLE IF EXISTS rowlock_object;
