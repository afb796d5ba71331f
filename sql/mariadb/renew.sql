-- Renews a lease: token, ttl_ms, name, owner (NULL: any) -> status.
CALL rowlock_renew_lease(?, ?, ?, ?);
