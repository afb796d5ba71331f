SELECT {drawn} FROM rowlock_counter WHERE name = ?t;
