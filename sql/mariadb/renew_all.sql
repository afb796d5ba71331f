CALL rowlock_renew_leases(?, ?);
