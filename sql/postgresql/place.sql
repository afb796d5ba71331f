SELECT status, number, before, free, expires_ms, locked, {read_text name}, {read_text detail}
  FROM rowlock.place($2::bigint, $3::bigint, $4::bigint) WHERE $1::text IS NOT NULL;
