-- Keeps every session from acquiring, waiting and counting until this transaction ends. It locks
-- the tables that in_use.sql reads.
LOCK TABLE rowlock.lease, rowlock.waiter, rowlock.counter, rowlock.job,
rowlock.subject IN ACCESS EXCLUSIVE MODE;
