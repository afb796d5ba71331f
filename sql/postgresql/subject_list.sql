SELECT {read_text subject}, {read_text description}, status, began_ms, ended_ms, updated_ms,
       age_ms, {read_text program}, {read_text host}, pid, {read_text error}, exit, made::integer
  FROM rowlock.subjects({given $1});
