-- SPDX-License-Identifier: Apache-2.0
-- Texts are returned as bytes: a character that the session's encoding lacks would raise an error
-- and end the transaction.
SELECT status, pg_catalog.convert_to(name, 'UTF8'), stays, pg_catalog.convert_to(detail, 'UTF8')
  FROM rowlock.lock($1::text, $2::bigint, $3::bigint, $4::integer);
