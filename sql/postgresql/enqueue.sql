SELECT e.status, {read_text e.name}, e.token, e.number, {read_text e.detail}
  FROM {wants $1::text} w,
       rowlock.enqueue(w.names, w.modes, w.limits, w.counts, $2::text, $3::bigint, $4::bigint,
                       {storable $5}, $6::bigint, {storable $7}, {storable $8}) e;
