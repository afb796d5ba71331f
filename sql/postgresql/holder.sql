-- SPDX-License-Identifier: Apache-2.0
-- Lists the holders of the name $1 (raw bytes), leases first.
SELECT kind, pid, host, program, since, expires, note, waiting
  FROM rowlock.holders(pg_catalog.convert_from($1::bytea, 'UTF8'));
