DELETE FROM rowlock_job WHERE name = ?t AND version = ?i;
