SELECT token, expires, stop, {now} AS now_ms FROM rowlock_heartbeat;
