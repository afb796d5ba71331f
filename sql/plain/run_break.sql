UPDATE rowlock_run SET outcome = 'broken' WHERE token = ?i AND outcome = 'running';
