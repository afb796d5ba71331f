-- Shows that the session lives.
SELECT {now} AS now_ms FROM {one_row};
