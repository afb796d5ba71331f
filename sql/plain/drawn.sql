SELECT {drawn}, history FROM rowlock_number WHERE only_one = 1;
