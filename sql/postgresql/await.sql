SELECT rowlock.await($1::integer, $2::bigint, $3::bigint, $4::bigint);
