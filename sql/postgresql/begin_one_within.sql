SELECT rowlock.begin_one($1, $2);
