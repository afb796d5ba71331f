-- The leases of the name %, expired or not: that of its row, or the members of its gate.
(SELECT f.* FROM (SELECT r.* FROM rowlock.lease r WHERE r.name = % AND r.n <= 0
                   ORDER BY r.n LIMIT 1) f
  WHERE f.token > 0
 UNION ALL
 SELECT m.* FROM (SELECT r.token, r.least FROM rowlock.lease r WHERE r.name = % AND r.n <= 0
                   ORDER BY r.n LIMIT 1) g
   JOIN rowlock.lease m ON m.name = % AND m.n > g.least
  WHERE g.token = 0)
