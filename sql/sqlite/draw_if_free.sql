-- Draws the next number, as draw.sql does, if the name has no lease and no ticket. Sent under the
-- file's write lock, so that neither can appear before COMMIT.
UPDATE rowlock_number SET last = max(last + 1, {now} * 1000)
 WHERE only_one = 1
   AND NOT EXISTS (SELECT 1 FROM rowlock_lease WHERE name = ?t)
   AND NOT EXISTS (SELECT 1 FROM rowlock_waiter WHERE name = ?t);
