-- Writes the history of a lease that is released next, if the level is all and no run of a job has
-- the lease. The lease must have that name and that owner (NULL: any).
INSERT OR FAIL INTO rowlock_history
       (name, mode, permits, token, host, pid, command, note, acquired, waited, ended, how, problem)
SELECT lease.name, lease.mode, count(*), lease.token, lease.host, lease.pid, lease.command,
       lease.note, lease.acquired, lease.waited, max(lease.acquired, {now}), 'released', 0
  FROM rowlock_lease AS lease
 WHERE lease.token = ?i
   AND EXISTS (SELECT 1 FROM rowlock_lease
                WHERE token = ?i AND name = ?t AND owner = coalesce(?t, owner))
   AND EXISTS (SELECT 1 FROM rowlock_heartbeat WHERE token = ?i AND expires > {now} AND stop = 0)
   AND EXISTS (SELECT 1 FROM rowlock_number WHERE history = 3)
   AND NOT EXISTS (SELECT 1 FROM rowlock_run WHERE token = ?i)
 GROUP BY lease.name;
