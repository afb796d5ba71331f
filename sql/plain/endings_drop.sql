DELETE FROM rowlock_history WHERE problem = ?i AND ended < ?i;
