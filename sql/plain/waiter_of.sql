SELECT ticket, name, {kind}, {wanted}, host, pid, command, note, since, {now} AS now_ms
  FROM rowlock_waiter WHERE owner = ?t;
