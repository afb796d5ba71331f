-- Inserts one row of a lease. Its rows are never updated.
INSERT INTO rowlock_lease
       (name, token, n, kind, permits, owner, host, pid, command, note, acquired)
VALUES (?t, ?i, ?i, ?t, ?i, ?t, ?t, ?i, ?t, ?t, {now});
