-- Refuses the next renewal of the leases of a name, or removes them at once; returns how many were
-- live. The new version makes a node that decided before this decide again. The lease of a finished
-- job has no process that renews it: the rest of its minimum hold ends at once.
-- ?1 name, ?2 token or 0, ?3 now
UPDATE rowlock_job SET version = version + 1
 WHERE (name, running) IN (SELECT job, token FROM rowlock_run
                           JOIN rowlock_lease AS lease USING (token)
                            WHERE lease.name = ?1 AND ?2 IN (0, token) AND outcome = 'running');
UPDATE rowlock_run SET outcome = 'broken'
 WHERE outcome = 'running'
   AND token IN (SELECT token FROM rowlock_lease WHERE name = ?1 AND ?2 IN (0, token));
UPDATE rowlock_heartbeat SET stop = 1
 WHERE expires <= CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
   AND token IN (SELECT token FROM rowlock_lease WHERE name = ?1 AND ?2 IN (0, token));
UPDATE rowlock_heartbeat SET stop = 1
 WHERE expires > CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
   AND token IN (SELECT token FROM rowlock_lease WHERE name = ?1 AND ?2 IN (0, token));
SELECT changes() AS broken;
DELETE FROM rowlock_heartbeat
 WHERE (?3 OR token IN (SELECT token FROM rowlock_run
                        WHERE outcome IN ('done', 'failed', 'timed out')))
   AND token IN (SELECT token FROM rowlock_lease WHERE name = ?1 AND ?2 IN (0, token));
DELETE FROM rowlock_lease
 WHERE (?3 OR token IN (SELECT token FROM rowlock_run
                        WHERE outcome IN ('done', 'failed', 'timed out')))
   AND token IN (SELECT token FROM rowlock_lease WHERE name = ?1 AND ?2 IN (0, token));
