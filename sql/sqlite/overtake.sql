-- Under the write lock, of the tickets before ours: call ?2 = 0 marks with the number ?3 those without a mark;
-- else those that still bear the mark of call ?2 or an earlier one are removed.
-- ?1 ticket, ?2 call, ?3 number
UPDATE rowlock_waiter SET called = ?3
 WHERE ?2 = 0 AND called IS NULL AND ticket < ?1
   AND name IN (SELECT name FROM rowlock_waiter WHERE ticket = ?1);
DELETE FROM rowlock_waiter
 WHERE ?2 <> 0 AND ticket IN (SELECT waiter.ticket
                                FROM rowlock_waiter AS me
                                JOIN rowlock_waiter AS waiter ON waiter.name = me.name
                               WHERE me.ticket = ?1 AND waiter.ticket < ?1 AND waiter.called <= ?2);
