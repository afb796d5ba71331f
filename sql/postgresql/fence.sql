SELECT status, {read_text fenced}, stays, {read_text detail}
  FROM rowlock.fence({given $1}, $2::bigint, $3::bigint);
