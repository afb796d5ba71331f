-- The generation of the name %: that of its least row, or the one to which that row says the name
-- has moved.
coalesce((SELECT CASE WHEN r.token < 0 THEN r.token ELSE r.n END FROM rowlock.lease r
           WHERE r.name = % AND r.n <= 0 ORDER BY r.n LIMIT 1), 0)
