-- Records the end of a run and ends its lease, under the write lock. 0: done; 8: the lease was
-- lost, and only the history records the end; 14: it was broken. A repeated call returns the same.
-- The job keeps the token of a run that was lost or not started: the next claim repeats it. Its
-- name is free at once.
-- ?1 token, ?2 outcome, ?3 exit, ?4 output
UPDATE rowlock_job
   SET version = version + 1,
       running = CASE WHEN ?2 IN ('lost', 'not started')
           AND NOT (SELECT stop FROM rowlock_heartbeat WHERE token = ?1)
                      THEN running ELSE 0 END,
       failed = CASE WHEN ?2 IN ('done', 'lost')
           OR (SELECT stop FROM rowlock_heartbeat WHERE token = ?1) THEN 0
                ELSE CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) END
 WHERE name = (SELECT job FROM rowlock_run WHERE token = ?1) AND running = ?1
   AND EXISTS (SELECT 1 FROM rowlock_lease WHERE token = ?1)
   AND EXISTS (SELECT 1 FROM rowlock_heartbeat WHERE token = ?1);
UPDATE rowlock_job SET version = version + 1 -- a node that decided before this must decide again
 WHERE ?2 = 'not started' AND name = (SELECT job FROM rowlock_run WHERE token = ?1)
   AND running = ?1;
UPDATE rowlock_run
   SET outcome = CASE WHEN NOT EXISTS (SELECT 1 FROM rowlock_lease
                                       JOIN rowlock_heartbeat USING (token) WHERE token = ?1)
                      THEN CASE WHEN outcome = 'broken' THEN outcome
                          WHEN ?2 = 'not started' THEN ?2 ELSE 'late' END
                      WHEN (SELECT stop FROM rowlock_heartbeat WHERE token = ?1) THEN 'broken'
                      ELSE ?2 END,
       finished = CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER), exit = ?3,
       output = ?4
 WHERE token = ?1 AND outcome IN ('running', 'lost', 'broken')
   AND NOT (outcome = 'lost'
            AND EXISTS (SELECT 1 FROM rowlock_job WHERE name = job AND running = ?1));
UPDATE rowlock_heartbeat
   SET expires = (SELECT taken_until FROM rowlock_run WHERE token = ?1)
 WHERE token = ?1 AND NOT stop AND ?2 NOT IN ('lost', 'not started')
   AND CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
     < (SELECT taken_until FROM rowlock_run WHERE token = ?1);
DELETE FROM rowlock_heartbeat
 WHERE token = ?1
   AND (stop OR ?2 IN ('lost', 'not started')
        OR coalesce((SELECT taken_until FROM rowlock_run WHERE token = ?1), 0)
           <= CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
DELETE FROM rowlock_lease WHERE token = ?1 AND token NOT IN (SELECT token FROM rowlock_heartbeat);
SELECT coalesce((SELECT CASE WHEN outcome = 'broken' THEN 14 WHEN outcome = 'late' THEN 8
                             WHEN outcome = 'lost' AND NOT EXISTS (SELECT 1 FROM rowlock_job
                                                                    WHERE name = job
                                                                      AND running = ?1) THEN 8
                             ELSE 0 END
                   FROM rowlock_run WHERE token = ?1), 8) AS status;
