-- SPDX-License-Identifier: Apache-2.0
-- psql: the transaction that does the work acquires the lock, and releases it at its end.
BEGIN;
SELECT rowlock.exclusive('BondBO:DK0015966592');
\echo locked
UPDATE bond SET handled = handled + 1 WHERE id = 'DK0015966592';
COMMIT;
