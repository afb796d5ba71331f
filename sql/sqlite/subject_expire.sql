-- ?1 name
INSERT INTO rowlock_expiry (name, expired)
SELECT name, max({now}, coalesce(began, 0)) FROM rowlock_subject WHERE name = ?1
    ON CONFLICT (name) DO UPDATE SET expired = max(expired + 1, excluded.expired);
SELECT count(*) AS number FROM rowlock_subject WHERE name = ?1;
