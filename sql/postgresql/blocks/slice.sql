-- For how many of these % milliseconds one statement may wait.
greatest(1, least(%, 30000, CASE
    WHEN pg_catalog.current_setting('statement_timeout')::interval > interval '0'
    THEN ({in_ms pg_catalog.current_setting('statement_timeout')::interval
           * 0.8::double precision})::bigint END))
