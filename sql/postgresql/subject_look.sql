-- An unknown subject gets a row, so that no transaction needs to insert one.
WITH judged AS (SELECT j.stale, j.age_ms FROM rowlock.judge_subject({given $1}, $2::bigint) j),
added AS (INSERT INTO rowlock.subject (name) SELECT {given $1} FROM judged j WHERE j.stale IS NULL
              ON CONFLICT DO NOTHING)
SELECT coalesce(j.stale, 1), j.age_ms FROM judged j;
