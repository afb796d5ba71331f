UPDATE rowlock_number SET history = ?i, keep_good = ?i, keep_bad = ?i WHERE only_one = 1;
