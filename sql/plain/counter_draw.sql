-- Draws numbers of a counter, under the lock of counter:NAME.
UPDATE rowlock_counter SET {drawn} = {drawn} + ?i WHERE name = ?t;
