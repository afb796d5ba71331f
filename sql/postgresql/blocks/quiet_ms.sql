-- For how many milliseconds after a grant the release leaves no row in the history.
CASE (SELECT s.history FROM rowlock.setting s)
    WHEN 'all' THEN 0 WHEN 'off' THEN 3155760000000 WHEN 'problems' THEN 3155760000000
    ELSE 10000 END::bigint
