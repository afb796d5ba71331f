-- Sets which ended leases the history keeps: level, and the milliseconds for good and bad ones.
UPDATE rowlock_meta
   SET history = ELT(? + 1, 'off', 'problems', 'slow', 'all'), keep_good = ?, keep_bad = ?;
