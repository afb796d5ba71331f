SELECT status, $1::text, token, number, {read_text detail}
  FROM rowlock.turn({from_hex pg_catalog.split_part($1::text, ':', 1)}, $2::text, $3::bigint,
                    $4::bigint, $5::bigint, $6::bigint, {storable $7}, $8::bigint, {storable $9},
                    {storable $10}, $11::integer, $12::bigint);
