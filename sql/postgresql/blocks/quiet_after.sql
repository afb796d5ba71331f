-- The time until which the release of a lease leaves no row in the history, if its caller waited
-- for % milliseconds.
CASE WHEN % >= 1000 THEN '-infinity'::timestamptz
     ELSE pg_catalog.clock_timestamp() + (SELECT {interval q.ms} FROM (SELECT {quiet_ms} AS ms) q)
     END
