-- SPDX-License-Identifier: Apache-2.0
-- Releases the leases listed in $1 and grants those packed in $2, all in one transaction.
SELECT gone, granted
  FROM rowlock.batch($1::text, $2::text, $3::bigint, pg_catalog.convert_from($4::bytea, 'UTF8'));
