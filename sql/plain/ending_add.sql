INSERT INTO rowlock_history
       (name, {kind_column}, permits, token, host, pid, command, note, acquired, waited, ended, how,
        problem, id)
VALUES (?t, {kind_value}, ?i, ?i, ?t, ?i, ?t, ?t, ?i, ?i, ?i, ?t, ?i, ?i);
