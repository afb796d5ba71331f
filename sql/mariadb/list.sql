-- Lists holders and waiters: name or NULL.
CALL rowlock_list(?);
