SELECT {now} AS now_ms FROM {one_row};
