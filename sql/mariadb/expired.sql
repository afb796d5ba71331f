-- Lists the tokens of expired leases that conflict with the wants.
CALL rowlock_expired(?);
