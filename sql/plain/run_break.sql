-- Records that the lease of a run was broken.
UPDATE rowlock_run SET outcome = 'broken' WHERE token = ?i AND outcome = 'running';
