SELECT state, {read_text lock_name}, mode, token, ticket, {read_text owner},
       {read_text host}, pid, {read_text command}, {read_text note}, since_ms, expires_ms, left_ms,
       "limit", "count", stop::integer
  FROM rowlock.list({given $1});
