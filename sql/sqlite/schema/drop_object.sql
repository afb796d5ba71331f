-- Technique insert: the table was created by rowlock (rowlock_meta.owned), so it goes too.
DROP TABLE IF EXISTS rowlock_object;
