-- SPDX-License-Identifier: Apache-2.0
-- In a transaction that is open: locks all the names packed in $1 or none; $2 the wait in ms, $3
-- how much of it for leases, $4 whether expired leases are swept in here. Texts come as
-- bytes: what the session's encoding lacks would fail, and end the transaction.
SELECT status, pg_catalog.convert_to(name, 'UTF8'), stays, pg_catalog.convert_to(detail, 'UTF8')
  FROM rowlock.lock($1::text, $2::bigint, $3::bigint, $4::integer);
