SELECT rowlock.session_unlock_lost();
