SELECT rowlock.end_lease($1::bigint, only_expired => true)::integer;
