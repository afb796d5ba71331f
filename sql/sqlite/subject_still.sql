RELEASE rowlock_refresh;
