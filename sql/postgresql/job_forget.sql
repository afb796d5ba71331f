SELECT rowlock.forget_job({given $1});
