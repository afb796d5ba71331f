-- SPDX-License-Identifier: Apache-2.0
-- psql: the lock is taken in the transaction that does the work, and goes with it.
BEGIN;
SELECT rowlock.exclusive('BondBO:DK0015966592');
\echo locked
UPDATE bond SET handled = handled + 1 WHERE id = 'DK0015966592';
COMMIT;
