-- Once in a session, before its first grant_free: how long a release leaves no row in the history,
-- in milliseconds. No row: technique insert, which has no rows of names, or another session
-- answers, behind a pooler.
SELECT CASE history WHEN 'all' THEN 0 WHEN 'slow' THEN 10000 ELSE 315360000000 END
  FROM rowlock_meta WHERE technique = 'row' AND ? = CONNECTION_ID();
