-- As PostgreSQL's. An account sees the procedures that it may call.
SELECT count(*) FROM information_schema.routines
 WHERE routine_schema = DATABASE() AND routine_name = 'rowlock_renew_graded';
