-- Under the write lock: 0 there was none, 1 it is forgotten, 2 it runs.
-- ?1 name
DELETE FROM rowlock_run
 WHERE job = ?1 AND NOT EXISTS (
       SELECT 1 FROM rowlock_job JOIN rowlock_beat AS beat ON beat.token = running
        WHERE name = ?1 AND expires > CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM rowlock_job WHERE name = ?1) THEN 0
            WHEN EXISTS (SELECT 1 FROM rowlock_job JOIN rowlock_beat AS beat ON beat.token = running
                          WHERE name = ?1
                            AND expires > CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)) THEN 2
            ELSE 1 END AS status;
DELETE FROM rowlock_job
 WHERE name = ?1 AND NOT EXISTS (
       SELECT 1 FROM rowlock_beat AS beat
        WHERE beat.token = running
          AND expires > CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
