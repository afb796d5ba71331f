WITH asked AS (SELECT {given $1} AS name, $2::bigint AS version),
done AS ({completed_for asked} RETURNING 1)
SELECT CASE WHEN EXISTS (SELECT FROM done) THEN 0 ELSE 8 END;
