-- SPDX-License-Identifier: Apache-2.0
-- The functions that yugabytedb.pl puts into a client's statements. A superuser runs this file in
-- the database under test.
CREATE SCHEMA standin;
GRANT USAGE ON SCHEMA standin TO PUBLIC;
CREATE EXTENSION dblink SCHEMA standin;

CREATE FUNCTION standin.version() RETURNS text LANGUAGE sql AS $$
    SELECT 'PostgreSQL 15.2-YB-2025.1.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang'::text
$$;

CREATE FUNCTION standin.current_setting(name text) RETURNS text LANGUAGE sql AS $$
    SELECT CASE name WHEN 'server_version_num' THEN '120022' WHEN 'server_version' THEN '12.22'
        ELSE pg_catalog.current_setting(name) END
$$;

-- The row must stay when the caller's transaction is rolled back, and no caller waits for it. If
-- the caller has deleted the row, this would wait for the caller itself: lock_timeout ends that
-- wait.
CREATE FUNCTION standin.make_known(name text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM standin.dblink_exec(
        format('host=127.0.0.1 port=%s dbname=%s user=postgres options=''-c lock_timeout=2000''',
               current_setting('port'), current_database()),
        format('INSERT INTO rowlock.name (name) VALUES (%L) ON CONFLICT DO NOTHING', name), false);
END $$;
