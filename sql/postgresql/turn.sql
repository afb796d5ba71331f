SELECT status, pg_catalog.decode(pg_catalog.split_part($1::text, ':', 1), 'hex'), token, number,
       {read_text detail}
  FROM rowlock.turn({from_hex pg_catalog.split_part($1::text, ':', 1)}, $2::text, $3::bigint,
                    $4::bigint, $5::bigint, $6::bigint, {storable $7}, $8::bigint, {storable $9},
                    {storable $10}, $11::integer, $12::bigint);
