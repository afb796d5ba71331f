SELECT rowlock.expire({given $1});
