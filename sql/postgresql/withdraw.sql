SELECT rowlock.withdraw($1::bigint, $2::text, $3::bigint);
