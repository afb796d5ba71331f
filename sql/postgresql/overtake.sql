SELECT rowlock.overtake($2::bigint, $3::bigint, $4::bigint) WHERE $1::text IS NOT NULL;
