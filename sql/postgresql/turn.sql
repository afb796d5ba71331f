SELECT status, {read_text name}, token, number, {read_text detail}
  FROM rowlock.turn($1::text, $2::text, $3::bigint, $4::bigint, $5::bigint, $6::bigint,
                    {given $7}, $8::bigint, {given $9}, {given $10}, $11::integer, $12::bigint);
