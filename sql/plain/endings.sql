SELECT name, {kind}, permits, token, host, pid, command, note, acquired, waited, ended, how
  FROM rowlock_history WHERE ended >= ?i AND ended < ?i;
