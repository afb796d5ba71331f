SELECT status, left_ms, mode, {read_text owner}
  FROM rowlock.check_lease({given $1}, $2::bigint);
