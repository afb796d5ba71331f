-- ?1 name, ?2 max_age_ms (< 0: any age is fine)
SELECT CASE WHEN s.status = 'COMPLETE' AND s.basis > coalesce(e.expired, -1)
            AND (?2 < 0 OR max({now} - s.updated, 0) < ?2 AND s.updated - {now} <= ?2)
       THEN 0 ELSE 1 END AS stale, max({now} - s.updated, 0) AS age_ms
  FROM rowlock_subject s LEFT JOIN rowlock_expiry e ON e.name = s.name
 WHERE s.name = ?1;
