-- Leases that ended and waiters that gave up. how: released, expired, revoked, gave up; problem 1:
-- not released. A negative token: the caller that broke the lease with that number. id: random,
-- because the engines have no common way to number rows. Runs of jobs are in rowlock_run.
CREATE TABLE rowlock_history (
    name     {key} NOT NULL,
    kind     CHAR(1) NOT NULL,
    permits  {big} NOT NULL,
    token    {big},
    host     {text},
    pid      {big},
    command  {text},
    note     {long},
    acquired {big},
    waited   {big} NOT NULL,
    ended    {big} NOT NULL,
    how      VARCHAR(16) NOT NULL,
    problem  {big} NOT NULL,
    id       {big} NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX rowlock_history_ended ON rowlock_history (ended);
