-- The one row of the job p_name.
FROM (SELECT 1 AS one) o
LEFT JOIN rowlock_job j ON j.name = p_name
LEFT JOIN rowlock_run r ON r.token = j.running
LEFT JOIN (SELECT MAX(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', b.expires) DIV 1000) AS free_ms
             FROM rowlock_held b
            WHERE b.name = CONCAT('job:', p_name) AND b.expires > utc_timestamp(6)) h ON 1
