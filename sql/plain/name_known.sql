SELECT n FROM rowlock_name WHERE name = ?t;
