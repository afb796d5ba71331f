-- Deletes a job, under the write lock: 0 no such job, 1 deleted, 2 it runs.
-- ?1 name
DELETE FROM rowlock_run
 WHERE job = ?1 AND NOT EXISTS (
       SELECT 1 FROM rowlock_job JOIN rowlock_heartbeat AS heartbeat ON heartbeat.token = running
        WHERE name = ?1
          AND expires > CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM rowlock_job WHERE name = ?1) THEN 0
            WHEN EXISTS (SELECT 1 FROM rowlock_job JOIN rowlock_heartbeat AS heartbeat
                         ON heartbeat.token = running
                          WHERE name = ?1
                            AND expires
                                > CAST(ROUND((julianday('now') - 2440587.5)
                                             * 86400000) AS INTEGER)) THEN 2
            ELSE 1 END AS status;
DELETE FROM rowlock_job
 WHERE name = ?1 AND NOT EXISTS (
       SELECT 1 FROM rowlock_heartbeat AS heartbeat
        WHERE heartbeat.token = running
          AND expires > CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
