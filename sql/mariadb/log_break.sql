INSERT INTO rowlock_history (name, mode, permits, token, host, pid, command, waited, ended, how)
SELECT ?, 'exclusive', 1, - ?, ?, ?, ?, 0, UTC_TIMESTAMP(6), 'revoked' FROM rowlock_meta
 WHERE history <> 'off';
