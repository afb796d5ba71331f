-- A roll call, under the write lock. ?2 = 0: sets the roll call ?3 on the tickets ahead that have
-- none. Otherwise: deletes the tickets ahead that still have roll call ?2 or an earlier one.
-- ?1 ticket, ?2 roll call, ?3 number
UPDATE rowlock_waiter SET roll_call = ?3
 WHERE ?2 = 0 AND roll_call IS NULL AND ticket < ?1
   AND name IN (SELECT name FROM rowlock_waiter WHERE ticket = ?1);
DELETE FROM rowlock_waiter
 WHERE ?2 <> 0 AND ticket IN (SELECT waiter.ticket
                                FROM rowlock_waiter AS me
                                JOIN rowlock_waiter AS waiter ON waiter.name = me.name
                               WHERE me.ticket = ?1 AND waiter.ticket < ?1
                                 AND waiter.roll_call <= ?2);
