-- 1 if there is a schema in this database.
SELECT count(*) AS installed FROM information_schema.tables
 WHERE table_schema = DATABASE() AND table_name = 'rowlock_meta';
