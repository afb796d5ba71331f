-- Records that a waiter lives; this also answers a roll call.
UPDATE rowlock_waiter SET alive_until = {now} + ?i, roll_call = {unmarked} WHERE ticket = ?i;
