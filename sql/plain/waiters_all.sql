SELECT ticket, {kind}, {permits}, {wanted}, owner, host, pid, command, note, since, alive_until,
       roll_call, name, {now} AS now_ms
  FROM rowlock_waiter;
