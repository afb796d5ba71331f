SELECT IF(DATABASE() IS NULL, NULL, count(*)) AS installed FROM information_schema.tables
 WHERE table_schema = DATABASE() AND table_name = 'rowlock_meta';
