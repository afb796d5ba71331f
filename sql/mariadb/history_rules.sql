-- Reads which ended leases the history keeps: level, and the milliseconds for good and bad ones.
SELECT FIELD(history, 'off', 'problems', 'slow', 'all') - 1, keep_good, keep_bad FROM rowlock_meta;
