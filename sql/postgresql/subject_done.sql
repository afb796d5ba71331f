SELECT rowlock.complete_subject({given $1}, $2::bigint);
