-- The variables of a cluster exist only where its plugin is loaded, so this reads them from their
-- table.
SELECT CASE WHEN @@read_only OR @@super_read_only OR @@innodb_read_only
                THEN 'it is read-only, perhaps a replica'
            WHEN EXISTS (SELECT 1 FROM performance_schema.global_variables
                          WHERE (variable_name = 'wsrep_on' AND variable_value = 'ON')
                             OR (variable_name = 'group_replication_single_primary_mode'
                                 AND variable_value = 'OFF'))
                THEN 'other nodes of its cluster accept writes: another node could grant the same '
                     'lock at the same time; use a database on a server outside the cluster'
       END AS reason;
