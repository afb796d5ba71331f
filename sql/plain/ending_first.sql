-- Reads when the oldest entry of the history that is older than a time ended, of the good entries
-- or of the problems.
SELECT MIN(ended) FROM rowlock_history WHERE problem = ?i AND ended < ?i;
