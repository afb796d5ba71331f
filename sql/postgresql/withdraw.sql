SELECT rowlock.withdraw($1::bigint, $2::text);
