SELECT CASE WHEN {reads_only} OR @@innodb_read_only THEN 'it is read-only, perhaps a replica'
            WHEN @@GLOBAL.wsrep_on
                THEN 'it is a Galera node: another node could grant the same lock at the same '
                     'time; use a database on a server outside the cluster'
       END AS reason;
