-- Inserts one row of a lease. Its rows are never updated.
INSERT INTO rowlock_lease
       (name, token, n, {kind_column}, {permits}, owner, host, pid, command, note, acquired, waited)
VALUES (?t, ?i, ?i, {kind_value}, ?i, ?t, ?t, ?i, ?t, ?t, {now}, ?i);
