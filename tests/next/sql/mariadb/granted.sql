-- As PostgreSQL's. An account sees the procedures that it may call.
SELECT count(*) = 3 FROM information_schema.routines
 WHERE routine_schema = DATABASE()
   AND routine_name IN ('rowlock_renew_graded', 'rowlock_advance_began',
                        'rowlock_advance_began_row');
