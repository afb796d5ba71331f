-- Renews: token, ttl_ms -> status.
CALL rowlock_renew_lease(?, ?);
