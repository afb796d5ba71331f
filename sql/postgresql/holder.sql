-- SPDX-License-Identifier: Apache-2.0
SELECT kind, pid, host, program, since, expires, note, waiting
  FROM rowlock.holders(pg_catalog.convert_from($1::bytea, 'UTF8'));
