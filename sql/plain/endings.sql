-- Reads the entries of the history from one time until before another.
SELECT name, {kind}, permits, token, host, pid, command, note, acquired, waited, ended, how
  FROM rowlock_history WHERE ended >= ?i AND ended < ?i;
