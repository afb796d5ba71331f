-- Leases that ended and waiters that gave up (rowlock log). Runs of jobs are in rowlock_run.
CREATE TABLE IF NOT EXISTS rowlock_history (
    name     TEXT    NOT NULL,
    mode     TEXT    NOT NULL,
    permits  INTEGER NOT NULL,
    token    INTEGER,                       -- NULL: a waiter that gave up
                                            -- negative: the caller that broke that lease
    host     TEXT,
    pid      INTEGER,
    command  TEXT,
    note     TEXT,
    acquired INTEGER,                       -- NULL: never
    waited   INTEGER NOT NULL,              -- milliseconds
    ended    INTEGER NOT NULL,
    how      TEXT    NOT NULL,              -- released, expired, revoked, gave up
    problem  INTEGER NOT NULL,              -- 0: released
    id       INTEGER PRIMARY KEY
);
CREATE INDEX IF NOT EXISTS rowlock_history_ended ON rowlock_history (ended);

-- The history entries of expired leases, for the statements that delete these leases. A run of a
-- job has none. It is not grouped, so that a search for a token reads no other lease.
CREATE VIEW IF NOT EXISTS rowlock_expired AS
SELECT lease.name, lease.mode,
       (SELECT count(*) FROM rowlock_lease AS permit
         WHERE permit.token = lease.token AND permit.name = lease.name) AS permits,
       lease.token, lease.host, lease.pid, lease.command, lease.note, lease.acquired, lease.waited,
       max(heartbeat.expires, lease.acquired) AS ended,
       CASE WHEN heartbeat.stop THEN 'revoked' ELSE 'expired' END AS how, 1 AS problem
  FROM rowlock_lease AS lease JOIN rowlock_heartbeat AS heartbeat ON heartbeat.token = lease.token
 WHERE heartbeat.expires <= {now}
   AND lease.n = (SELECT min(permit.n) FROM rowlock_lease AS permit
                   WHERE permit.token = lease.token AND permit.name = lease.name)
   AND EXISTS (SELECT 1 FROM rowlock_number WHERE history > 0)
   AND (substr(lease.name, 1, 4) <> 'job:'
        OR NOT EXISTS (SELECT 1 FROM rowlock_run AS run WHERE run.token = lease.token));
