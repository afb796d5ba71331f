-- Reads the database's clock.
SELECT {now} AS now_ms FROM rowlock_meta;
