-- Releases the session lock of a grant or a ticket that was rolled back, which does not release it:
-- that of the number that this session drew last. (Without one the server reports an error.)
SELECT pg_catalog.pg_advisory_unlock({session_key_of c.last})
  FROM (SELECT pg_catalog.currval('rowlock.number') AS last) c
 WHERE NOT EXISTS (SELECT FROM rowlock.lease l WHERE l.token = c.last AND l.token > 0)
   AND NOT EXISTS (SELECT FROM rowlock.waiter w WHERE w.ticket = c.last)
   AND EXISTS (SELECT FROM pg_catalog.pg_locks k
                WHERE {advisory_lock k} AND k.granted AND k.pid = pg_catalog.pg_backend_pid()
                  AND k.mode = 'ExclusiveLock'
                  AND (k.classid::bigint << 32 | k.objid::bigint) = {session_key_of c.last});
