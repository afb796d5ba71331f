-- Reads the oldest time in the history before a time, of the good ones or of the problems.
SELECT MIN(ended) FROM rowlock_history WHERE problem = ?i AND ended < ?i;
