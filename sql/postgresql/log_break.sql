-- SPDX-License-Identifier: Apache-2.0
INSERT INTO rowlock.history (name, mode, permits, token, host, pid, command, waited, ended, how)
SELECT pg_catalog.convert_from($1::bytea, 'UTF8'), 'exclusive', 1, -$2::bigint,
       pg_catalog.convert_from($3::bytea, 'UTF8'), $4::bigint,
       pg_catalog.convert_from($5::bytea, 'UTF8'), 0, pg_catalog.clock_timestamp(), 'revoked'
 WHERE coalesce((SELECT s.history FROM rowlock.setting s), 'slow') <> 'off';
