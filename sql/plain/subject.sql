SELECT name, version, status, description, began, ended, basis, updated, host, pid, program, token,
       {error}, {exit}, {now} AS now_ms
  FROM rowlock_subject WHERE name = ?t;
