-- Sets the due time of a job, if its row still has that version. Returns 1, or 0: it has not.
-- ?1 name, ?2 version, ?3 due
UPDATE rowlock_job SET version = version + 1, due = ?3 WHERE name = ?1 AND version = ?2;
SELECT changes() AS planned;
