-- SPDX-License-Identifier: Apache-2.0
-- Why no lock is kept on this server, or NULL. Whether READ COMMITTED is what it says is asked in the transaction
-- (rowlock.check_use).
SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN 'it is a standby: a lock there would exclude nobody' END;
