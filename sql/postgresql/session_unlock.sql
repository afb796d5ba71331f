SELECT CASE WHEN $1::integer IN (0, 1) AND $3::bigint = pg_catalog.pg_backend_pid()
            THEN pg_catalog.pg_advisory_unlock({session_key_of $2::bigint})::integer ELSE 0 END;
