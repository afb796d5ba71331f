SELECT rowlock.break({given $1}, $2::bigint, $3::integer <> 0);
