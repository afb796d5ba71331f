-- Inserts the rows of a grant for one name, one row per permit.
-- ?1 token, ?2 name, ?3 mode, ?4 limit or NULL, ?5 count, ?6 owner, ?7 host, ?8 pid, ?9 command,
-- ?10 note
INSERT INTO rowlock_lease
    (token, name, n, mode, "limit", owner, host, pid, command, note, acquired)
WITH RECURSIVE permit (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM permit WHERE n + 1 < ?5)
SELECT ?1, ?2, n, ?3, ?4, ?6, ?7, ?8, ?9, ?10,
       CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
  FROM permit;
