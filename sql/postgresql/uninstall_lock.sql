-- SPDX-License-Identifier: Apache-2.0
-- Until the end of this transaction nobody acquires, waits or counts. The tables are those that in_use.sql reads.
LOCK TABLE rowlock.lease, rowlock.waiter, rowlock.counter, rowlock.job, rowlock.subject IN ACCESS EXCLUSIVE MODE;
