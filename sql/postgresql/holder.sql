SELECT kind, pid, host, program, since, expires, note, waiting
  FROM rowlock.holders({given $1});
