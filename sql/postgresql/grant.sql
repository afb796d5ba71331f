SELECT g.status, {read_text g.name}, g.token, g.number, {read_text g.detail}
  FROM {wants $1::text} w,
       rowlock.grant_lease(w.names, w.modes, w.limits, w.counts, $2::text, $3::bigint, $4::bigint,
                           $5::bigint, $6::bigint, {storable $7}, $8::bigint, {storable $9},
                           {storable $10}) g;
