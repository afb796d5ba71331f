-- Releases a lease: token, name, owner (NULL: any) -> status.
CALL rowlock_release_lease(?, ?, ?);
