SELECT history, keep_good, keep_bad, {now} AS now_ms FROM rowlock_number WHERE only_one = 1;
