-- MySQL's version of a view in sql/mariadb/schema/views.sql: without
-- information_schema.innodb_locks.

-- Empty: only performance_schema shows which transaction holds a row.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW rowlock_transactions AS
    SELECT CONVERT('' USING utf8mb4) COLLATE utf8mb4_0900_bin AS name, 'transaction' AS kind,
           'exclusive' AS mode, 0 AS waits, NULL AS host, 0 AS pid, NULL AS program, NULL AS note,
           utc_timestamp(6) AS since
      FROM rowlock_meta WHERE FALSE;
