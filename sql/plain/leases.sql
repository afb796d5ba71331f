-- One row per permit.
SELECT token, {kind}, {permits}, owner, host, pid, command, note, acquired, name
  FROM rowlock_lease WHERE name = ?t;
