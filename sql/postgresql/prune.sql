-- SPDX-License-Identifier: Apache-2.0
-- Deletes at most $1 rows of the history whose time has passed.
SELECT rowlock.prune($1::bigint);
