INSERT INTO rowlock.history (name, mode, permits, token, host, pid, command, waited, ended, how)
SELECT {given $1}, 'exclusive', 1, -$2::bigint, {storable $3}, $4::bigint, {storable $5}, 0,
       pg_catalog.clock_timestamp(), 'revoked'
 WHERE coalesce((SELECT s.history FROM rowlock.setting s), 'slow') <> 'off';
