-- SPDX-License-Identifier: Apache-2.0
-- Locks all names packed in $1, or none, in an open transaction. $2 is the wait in ms and $3 the
-- part of it that may be spent on leases; $4 = 0: expired leases are not swept in this transaction.
-- Texts are returned as bytes: a character that the session's encoding lacks would raise an error
-- and end the transaction.
SELECT status, pg_catalog.convert_to(name, 'UTF8'), stays, pg_catalog.convert_to(detail, 'UTF8')
  FROM rowlock.lock($1::text, $2::bigint, $3::bigint, $4::integer);
