-- Who holds, who waits: name or NULL.
CALL rowlock_list(?);
