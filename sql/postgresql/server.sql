-- SPDX-License-Identifier: Apache-2.0
-- Why no lock is kept on this server, or NULL.
SELECT CASE
    WHEN pg_catalog.pg_is_in_recovery() THEN 'it is a standby: a lock there would exclude nobody'
    WHEN pg_catalog.current_setting('server_version_num')::integer < 130000
        THEN 'PostgreSQL ' || pg_catalog.current_setting('server_version') || ' is older than 13'
    END;
