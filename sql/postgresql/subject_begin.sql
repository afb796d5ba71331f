SELECT stale, age_ms, version
  FROM rowlock.begin_subject({given $1}, $2::bigint, $3::bigint, {storable $4}, {storable $5},
                             $6::bigint, {storable $7});
