-- The keys of locks that are no name locks, as far as tables contain their numbers.
(SELECT {session_key_of l.token} FROM rowlock.lease l WHERE l.token > 0
 UNION SELECT {session_key_of l.token # rowlock.key(l.name)} FROM rowlock.lease l WHERE l.token > 0
 UNION SELECT {session_key_of w.ticket} FROM rowlock.waiter w)
