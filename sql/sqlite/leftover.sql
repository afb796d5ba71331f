-- Technique insert: a committed row that another program left behind. We have the write lock, so
-- what can be seen is committed.
SELECT uuid, locked_ts FROM rowlock_object WHERE id = ?1;
