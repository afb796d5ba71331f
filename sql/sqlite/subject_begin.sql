-- The savepoint ends with the transaction, so subject_still finds it only in the same transaction.
-- ?1 name, ?2 max_age_ms, ?3 token, ?4 description, ?5 host, ?6 pid, ?7 program
INSERT INTO rowlock_subject (name) VALUES (?1) ON CONFLICT DO NOTHING;
UPDATE rowlock_subject
   SET version = version + 1, status = 'PROCESSING', ended = NULL, error = NULL, exit = NULL,
       began = max({now}, coalesce((SELECT expired + 1 FROM rowlock_expiry WHERE name = ?1), 0)),
       description = coalesce(?4, description), host = ?5, pid = ?6, program = ?7, token = ?3
 WHERE name = ?1
   AND NOT (status = 'COMPLETE'
            AND basis > coalesce((SELECT expired FROM rowlock_expiry WHERE name = ?1), -1)
            AND (?2 < 0 OR max({now} - updated, 0) < ?2 AND updated - {now} <= ?2));
SELECT changes() AS stale, max({now} - updated, 0) AS age_ms, version
  FROM rowlock_subject WHERE name = ?1;
SAVEPOINT rowlock_refresh;
