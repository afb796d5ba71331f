-- SPDX-License-Identifier: Apache-2.0
SELECT pg_catalog.convert_to(subject, 'UTF8'), pg_catalog.convert_to(description, 'UTF8'), status,
       began_ms, ended_ms, updated_ms, age_ms, pg_catalog.convert_to(program, 'UTF8'),
       pg_catalog.convert_to(host, 'UTF8'), pid, pg_catalog.convert_to(error, 'UTF8'), exit,
       made::integer
  FROM rowlock.subjects(pg_catalog.convert_from($1::bytea, 'UTF8'));
