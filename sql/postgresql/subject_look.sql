SELECT stale, age_ms FROM rowlock.look_at_subject({given $1}, $2::bigint);
