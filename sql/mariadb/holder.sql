-- Who is in the way of a name, best first.
CALL rowlock_holder(?);
