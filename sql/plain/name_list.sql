-- Lists the names that have a row, locked or not.
SELECT name FROM rowlock_name;
