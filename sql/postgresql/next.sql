SELECT rowlock.advance({given $1}, $2::bigint, $3::bigint);
