-- SPDX-License-Identifier: Apache-2.0
-- The schema as an extension: between this file and extension_end.sql comes the script that
-- `rowlock schema install` runs.
\echo Use "CREATE EXTENSION rowlock" to load this file. \quit

SET LOCAL exit_on_error = off; -- some errors are caught
SELECT pg_catalog.pg_advisory_xact_lock(8246125620394091379); -- one installer at a time
DO $$
BEGIN
    IF pg_catalog.current_setting('server_version_num')::integer < 130000 THEN
        RAISE EXCEPTION
            'rowlock: PostgreSQL % is older than 13, the oldest version that rowlock supports',
                        pg_catalog.current_setting('server_version')
            USING ERRCODE = 'RL002';
    ELSIF pg_catalog.to_regclass('rowlock.meta') IS NOT NULL THEN
        RAISE EXCEPTION 'rowlock is already in this database, without the extension'
            USING ERRCODE = '42P06',
                  HINT = 'It works as it is. docs/extension.md of rowlock describes how to turn '
                         'it into an extension and keep its rows.';
    ELSIF pg_catalog.to_regnamespace('rowlock') IS NOT NULL THEN
        RAISE EXCEPTION 'the schema rowlock already exists and belongs to %',
                        (SELECT pg_catalog.pg_get_userbyid(n.nspowner)
                         FROM pg_catalog.pg_namespace n WHERE n.nspname = 'rowlock')
            USING ERRCODE = '42P06',
                  HINT = 'The extension must create it itself: DROP SCHEMA rowlock, or ALTER '
                         'SCHEMA rowlock RENAME TO another name.';
    END IF;
END $$;
