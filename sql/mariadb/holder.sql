-- Lists the holders of a name, most relevant first.
CALL rowlock_holder(?);
