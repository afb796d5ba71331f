-- SPDX-License-Identifier: Apache-2.0
SELECT state, pg_catalog.convert_to(lock_name, 'UTF8'), mode, token, ticket,
       pg_catalog.convert_to(owner, 'UTF8'), pg_catalog.convert_to(host, 'UTF8'), pid,
       pg_catalog.convert_to(command, 'UTF8'),
       pg_catalog.convert_to(note, 'UTF8'), since_ms, expires_ms, left_ms, "limit", "count",
       stop::integer
  FROM rowlock.list(pg_catalog.convert_from($1::bytea, 'UTF8'));
