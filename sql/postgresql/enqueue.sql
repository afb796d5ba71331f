SELECT status, {read_text name}, token, number, {read_text detail}
  FROM rowlock.enqueue($1::text, $2::text, $3::bigint, $4::bigint, {given $5},
                       $6::bigint, {given $7}, {given $8});
