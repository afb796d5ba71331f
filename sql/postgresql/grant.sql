SELECT status, {read_text name}, token, number, {read_text detail}
  FROM rowlock.grant_lease($1::text, $2::text, $3::bigint, $4::bigint, $5::bigint, $6::bigint,
                           {storable $7}, $8::bigint, {storable $9}, {storable $10});
