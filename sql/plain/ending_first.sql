-- Reads the time of the oldest row of the history, of the good ones or of the problems.
SELECT MIN(ended) FROM rowlock_history WHERE problem = ?i;
