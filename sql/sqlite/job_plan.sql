-- Records the schedule and the due time where no run is claimed, and the result of the previous
-- run, under the write lock. It ends the expired lease of that run first, because a renewal in
-- progress must not find it. Returns 1, or 0: another node was faster, or that lease lives. A run
-- that was not started stays with the job, so that it is claimed again.
-- ?1 name, ?2 version, ?3 schedule, ?4 due, ?5 former, ?6 its outcome
DELETE FROM rowlock_heartbeat
 WHERE token = ?5 AND expires <= CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER);
DELETE FROM rowlock_lease WHERE token = ?5 AND token NOT IN (SELECT token FROM rowlock_heartbeat);
UPDATE rowlock_run
   SET outcome = ?6, finished = CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
 WHERE token = ?5 AND outcome IN ('running', 'broken')
   AND EXISTS (SELECT 1 FROM rowlock_job WHERE name = ?1 AND version = ?2)
   AND NOT EXISTS (SELECT 1 FROM rowlock_lease WHERE token = ?5);
INSERT INTO rowlock_job (name, version, schedule, due)
SELECT ?1, ?2 + 1, ?3, ?4
 WHERE (?2 = 0 OR EXISTS (SELECT 1 FROM rowlock_job WHERE name = ?1 AND version = ?2))
   AND NOT EXISTS (SELECT 1 FROM rowlock_lease WHERE token = ?5)
    ON CONFLICT (name) DO UPDATE
   SET version = excluded.version, schedule = excluded.schedule, due = excluded.due,
       running = CASE WHEN EXISTS (SELECT 1 FROM rowlock_run
                                   WHERE token = running AND outcome = 'not started')
                 THEN running ELSE 0 END
 WHERE version = ?2;
SELECT changes() AS planned;
