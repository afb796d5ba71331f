SELECT rowlock.prune($1::bigint);
