SELECT CASE
    WHEN pg_catalog.pg_is_in_recovery()
        THEN 'it is a standby: locks there would not exclude other sessions'
    WHEN pg_catalog.current_setting('server_version_num')::integer < 130000
        THEN 'PostgreSQL ' || pg_catalog.current_setting('server_version')
            || ' is older than 13, the oldest version that rowlock supports'
    END;
