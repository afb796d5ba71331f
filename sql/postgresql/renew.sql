SELECT rowlock.renew_lease($1::bigint, $2::bigint, {given $3}, $4::text);
