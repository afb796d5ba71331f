SELECT expires, stop, {now} AS now_ms FROM rowlock_heartbeat WHERE token = ?i;
