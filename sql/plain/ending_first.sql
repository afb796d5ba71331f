-- Reads when the oldest entry of the history ended that is older than a time, among the problems or
-- among the others.
SELECT MIN(ended) FROM rowlock_history WHERE problem = ?i AND ended < ?i;
