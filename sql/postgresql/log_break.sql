-- SPDX-License-Identifier: Apache-2.0
-- Writes who broke the lease $2 of the name $1: host $3, process $4, user $5.
INSERT INTO rowlock.history (name, mode, permits, token, host, pid, command, waited, ended, how)
SELECT pg_catalog.convert_from($1::bytea, 'UTF8'), 'exclusive', 1, -$2::bigint,
       pg_catalog.convert_from($3::bytea, 'UTF8'), $4::bigint,
       pg_catalog.convert_from($5::bytea, 'UTF8'), 0, pg_catalog.clock_timestamp(), 'revoked'
 WHERE coalesce((SELECT s.history FROM rowlock.setting s), 'slow') <> 'off';
