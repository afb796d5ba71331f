-- SPDX-License-Identifier: Apache-2.0
-- The functions that yugabytedb.pl puts into a client's statements. A superuser runs this file in
-- the database under test.
CREATE SCHEMA standin;
GRANT USAGE ON SCHEMA standin TO PUBLIC;

CREATE FUNCTION standin.version() RETURNS text LANGUAGE sql AS $$
    SELECT 'PostgreSQL 15.2-YB-2025.1.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang'::text
$$;

CREATE FUNCTION standin.current_setting(name text) RETURNS text LANGUAGE sql AS $$
    SELECT CASE name WHEN 'server_version_num' THEN '120022' WHEN 'server_version' THEN '12.22'
        ELSE pg_catalog.current_setting(name) END
$$;
