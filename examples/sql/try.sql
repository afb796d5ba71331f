-- SPDX-License-Identifier: Apache-2.0
-- psql: waits two seconds. If the name is still busy, does something else in the same transaction.
BEGIN;
SELECT rowlock.try_exclusive('BondBO:DK0015966592', '2 s') AS got \gset
\if :got
    UPDATE bond SET handled = handled + 1 WHERE id = 'DK0015966592';
\else
    INSERT INTO later (id) VALUES ('DK0015966592');
\endif
COMMIT;
