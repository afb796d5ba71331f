SELECT rowlock.draw({given $1}, $2::bigint, $3::bigint);
