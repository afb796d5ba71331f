SELECT rowlock.lock_table({given $1}, $2::integer = 1, $3::bigint);
