SELECT rowlock.sweep($1::bigint);
