-- Records a sign of life of a waiter, which also answers a roll call.
UPDATE rowlock_waiter SET alive_until = {now} + ?i, roll_call = {unmarked} WHERE ticket = ?i;
