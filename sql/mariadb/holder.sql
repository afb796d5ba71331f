CALL rowlock_holder(?);
