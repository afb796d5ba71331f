SELECT status, {read_text name}, token, number, {read_text detail}
  FROM rowlock.enqueue($1::text, $2::text, $3::bigint, $4::bigint, {storable $5},
                       $6::bigint, {storable $7}, {storable $8});
