-- SPDX-License-Identifier: Apache-2.0
-- mariadb: begins a transaction at READ COMMITTED, and locks. The session keeps that level.
CALL rowlock_begin_exclusive('BondBO:DK0015966592');
SELECT 'locked';
UPDATE bond SET handled = handled + 1 WHERE id = 'DK0015966592';
COMMIT;
