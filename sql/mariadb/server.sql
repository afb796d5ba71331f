-- Returns the reason why locks on this server would be unsafe, or NULL.
SELECT CASE WHEN @@read_only THEN 'it is read-only, perhaps a replica'
            WHEN @@wsrep_on
                THEN 'it is a Galera node: row locks do not exclude sessions on other nodes'
       END AS reason;
