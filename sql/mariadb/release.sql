-- Releases: token -> status.
CALL rowlock_release_lease(?);
