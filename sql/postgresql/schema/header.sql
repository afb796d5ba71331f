-- SPDX-License-Identifier: Apache-2.0
-- rowlock's schema, version {schema_version}, to be run by hand:
-- psql -v ON_ERROR_STOP=1 -f this_file
BEGIN;
SET LOCAL client_min_messages = warning; -- no NOTICE about what does not exist yet
-- A role or a database may have it on: then an error ends the session, even one that is caught. So
-- each function that catches one sets it too.
SET LOCAL exit_on_error = off;
DO $$
BEGIN
    IF pg_catalog.current_setting('server_version_num')::integer < 130000 THEN
        RAISE EXCEPTION
            'rowlock: PostgreSQL % is older than 13, the oldest version that rowlock supports',
                        pg_catalog.current_setting('server_version')
            USING ERRCODE = 'RL002';
    END IF;
    PERFORM pg_catalog.pg_advisory_xact_lock(8246125620394091379); -- one installer at a time
END $$;
