-- Ends with the transaction of a refresh, so subject_still finds it only in that transaction.
SAVEPOINT rowlock_refresh;
