SELECT FIELD(history, 'off', 'problems', 'slow', 'all') - 1, keep_good, keep_bad FROM rowlock_meta;
