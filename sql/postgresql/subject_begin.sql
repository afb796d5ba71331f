SELECT stale, age_ms, version
  FROM rowlock.begin_subject({given $1}, $2::bigint, $3::bigint, {given $4}, {given $5},
                             $6::bigint, {given $7});
