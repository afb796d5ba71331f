-- Ends the expired leases for which the word % is true.
INSERT OR IGNORE INTO rowlock_history
       (name, mode, permits, token, host, pid, command, note, acquired, waited, ended, how, problem)
SELECT * FROM rowlock_expired
 WHERE token IN (SELECT token FROM rowlock_lease
                  WHERE {%});
DELETE FROM rowlock_heartbeat
 WHERE expires <= (SELECT now FROM rowlock_clock)
   AND token IN (SELECT token FROM rowlock_lease
                  WHERE {%});
DELETE FROM rowlock_lease
 WHERE token IN (SELECT token FROM rowlock_lease
                  WHERE {%})
   AND token NOT IN (SELECT token FROM rowlock_heartbeat);
