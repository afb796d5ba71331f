INSERT INTO rowlock_waiter
       (name, ticket, {kind_column}, {permits}, {wanted}, owner, host, pid, command, note,
        since, alive_until, roll_call)
VALUES (?t, ?i, {kind_value}, ?i, ?i, ?t, ?t, ?i, ?t, ?t, {now}, {now} + ?i, {unmarked});
