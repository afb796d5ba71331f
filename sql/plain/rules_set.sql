-- Sets which ended leases the history keeps, and for how long.
UPDATE rowlock_number SET history = ?i, keep_good = ?i, keep_bad = ?i WHERE only_one = 1;
