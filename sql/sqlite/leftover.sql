-- Technique insert: finds a committed row that another program left behind. The caller has the
-- write lock, so every visible row is committed.
SELECT uuid, locked_ts FROM rowlock_object WHERE id = ?1;
