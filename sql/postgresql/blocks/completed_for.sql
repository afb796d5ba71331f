-- Completes a refresh in the transaction that began it, for the row % with name and version.
UPDATE rowlock.subject s
   SET status = 'COMPLETE', ended = {now_ms}, updated = {now_ms}, basis = s.began
  FROM % a
 WHERE s.name = a.name COLLATE "C" AND s.version = a.version
   AND s.status = 'PROCESSING' AND s.token = 0 AND s.writer = pg_catalog.pg_current_xact_id()
