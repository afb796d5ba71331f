-- SPDX-License-Identifier: Apache-2.0
-- GRANTs: the minimum that the role application needs for locks, leases, jobs and refreshes, for
-- vacuum. FOR UPDATE requires the right to update a column; rowlock never updates how or uuid.
GRANT USAGE ON SCHEMA rowlock TO application;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA rowlock TO application;
GRANT SELECT ON rowlock.meta TO application;
GRANT SELECT, INSERT, DELETE, UPDATE ON rowlock.lease, rowlock.waiter TO application;
GRANT SELECT, INSERT, UPDATE (last) ON rowlock.counter TO application;
GRANT SELECT, INSERT, DELETE, UPDATE ON rowlock.job, rowlock.run TO application;
GRANT SELECT, INSERT, UPDATE ON rowlock.subject, rowlock.expiry TO application;
GRANT SELECT ON rowlock.origin, rowlock.setting TO application;
GRANT SELECT, USAGE, UPDATE ON SEQUENCE rowlock.number, rowlock.lifted, rowlock.lifted_for
    TO application;
GRANT SELECT ON rowlock.holders, rowlock.waiters, rowlock.names, rowlock.jobs, rowlock.subjects
    TO application;

-- Only the history (rowlock log) needs these: locks hold without them.
GRANT SELECT, INSERT, DELETE, UPDATE (how) ON rowlock.history TO application;

-- Members of pg_monitor see all sessions; they may also read the views, and run the verbs that
-- only read: jobs, log, ls, metrics, serve, subjects, top.
GRANT USAGE ON SCHEMA rowlock TO pg_monitor;
GRANT SELECT ON rowlock.holders, rowlock.waiters, rowlock.names, rowlock.jobs, rowlock.subjects
    TO pg_monitor;
GRANT SELECT ON rowlock.meta, rowlock.lease, rowlock.waiter, rowlock.job, rowlock.run,
    rowlock.subject, rowlock.expiry, rowlock.history, rowlock.setting TO pg_monitor;
GRANT EXECUTE ON FUNCTION rowlock.key(text), rowlock.list(text), rowlock.refuse_hidden(text)
    TO pg_monitor;

DO $$
BEGIN
    IF EXISTS (SELECT FROM rowlock.meta WHERE technique = 'insert') THEN
        -- the table that was chosen at installation
        EXECUTE pg_catalog.format(
                'GRANT SELECT, INSERT, DELETE, UPDATE (uuid) ON %s TO application',
                                  (SELECT object::pg_catalog.regclass FROM rowlock.meta));
        -- A trigger fires without this right, which only permits its role to put the function on a
        -- table.
        REVOKE EXECUTE ON FUNCTION rowlock.lock_object() FROM application;
    END IF;
END $$;
