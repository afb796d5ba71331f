SELECT token FROM rowlock.expired($1::text) token;
