-- Reads the leases of all names, one row per permit.
SELECT token, {kind}, {permits}, owner, host, pid, command, note, acquired, name
  FROM rowlock_lease;
