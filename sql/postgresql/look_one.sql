-- A statement of its own, behind name_lock: it reads what was committed during the wait for the
-- lock. A name without a lease has no row: nothing is computed for it.
SELECT rowlock.look($1::text COLLATE "C", $2::bigint <> 0)
  FROM rowlock.lease l WHERE l.name = $1::text COLLATE "C" LIMIT 1;
