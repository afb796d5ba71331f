-- One row per name and permit.
SELECT name, {kind}, host, pid, command, note, acquired, waited FROM rowlock_lease
 WHERE token = ?i;
