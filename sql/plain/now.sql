SELECT {now} AS now_ms FROM rowlock_meta;
