-- ?1 name
INSERT INTO rowlock_expiry (name, expired)
SELECT name,
       max(CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER), coalesce(began, 0))
  FROM rowlock_subject WHERE name = ?1
    ON CONFLICT (name) DO UPDATE SET expired = max(expired + 1, excluded.expired);
SELECT count(*) AS number FROM rowlock_subject WHERE name = ?1;
