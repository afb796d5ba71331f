-- Claims a run, in the transaction that grants the lease ?2. 1: the row still had that version (0:
-- there was no row) and is advanced, or this call was made before. 0: another node was faster, or
-- the instant is in the future.
-- ?1 name, ?2 token, ?3 version, ?4 schedule, ?5 instant, ?6 due, ?7 repeats, ?8 former,
-- ?9 its outcome, ?10 node, ?11 pid, ?12 at least, ?13 history
INSERT INTO rowlock_job (name, version, schedule, due)
SELECT ?1, 0, ?4, ?5 WHERE ?3 = 0 ON CONFLICT DO NOTHING;
UPDATE rowlock_job
   SET version = version + 1, schedule = ?4, due = ?6, last = ?5, repeats = ?7, failed = 0,
       running = ?2
 WHERE name = ?1 AND version = ?3
   AND ?5 <= CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER);
UPDATE rowlock_run
   SET outcome = ?9, finished = CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
 WHERE token = ?8 AND outcome IN ('running', 'broken')
   AND EXISTS (SELECT 1 FROM rowlock_job WHERE name = ?1 AND running = ?2);
INSERT INTO rowlock_run (token, job, node, pid, due, repeats, started, taken_until)
SELECT ?2, ?1, ?10, ?11, ?5, ?7, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER),
       CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + ?12
  FROM rowlock_job WHERE name = ?1 AND running = ?2 ON CONFLICT DO NOTHING;
DELETE FROM rowlock_run
 WHERE job = ?1
   AND token <= (SELECT token FROM rowlock_run
                 WHERE job = ?1 ORDER BY token DESC LIMIT 1 OFFSET ?13);
SELECT count(*) FROM rowlock_job WHERE name = ?1 AND running = ?2;
