UPDATE rowlock_meta
   SET history = ELT(? + 1, 'off', 'problems', 'slow', 'all'), keep_good = ?, keep_bad = ?;
