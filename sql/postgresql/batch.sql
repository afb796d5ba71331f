SELECT gone, granted FROM rowlock.batch($1::text, $2::text, $3::bigint, {storable $4});
