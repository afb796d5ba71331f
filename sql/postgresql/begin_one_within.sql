-- SPDX-License-Identifier: Apache-2.0
-- Locks one name ($1) exclusively, as begin_one.sql, but waits at most $2 ms.
SELECT rowlock.begin_one($1, $2);
