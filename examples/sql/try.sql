-- SPDX-License-Identifier: Apache-2.0
-- psql: what to do where the name is busy. Two seconds, then something else; the transaction goes on.
BEGIN;
SELECT rowlock.try_exclusive('BondBO:DK0015966592', '2 s') AS got \gset
\if :got
    UPDATE bond SET handled = handled + 1 WHERE id = 'DK0015966592';
\else
    INSERT INTO later (id) VALUES ('DK0015966592');
\endif
COMMIT;
