SELECT status, {read_text name}, stays, {read_text detail}
  FROM rowlock.begin_lock($1::text, $2::bigint);
