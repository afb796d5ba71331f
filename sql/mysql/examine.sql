-- The rows of MariaDB, and those of Group Replication: its settings exist only where its plugin is
-- loaded, so this reads them from their table.
{examine_session}
UNION ALL
SELECT 'server', 1,
       CONCAT('Group Replication: ', g.setting, ' is ', g.value, ', so ', g.effect),
       CONCAT('on each member: SET PERSIST ', g.setting, ' = ', g.better, ';')
  FROM (SELECT v.variable_name AS setting, v.variable_value AS value, w.effect, w.better
          FROM performance_schema.global_variables v
          JOIN (SELECT 'group_replication_consistency' AS setting, 'EVENTUAL' AS value,
                       'a new primary may grant before it knows all leases' AS effect,
                       '''BEFORE_ON_PRIMARY_FAILOVER''' AS better
                UNION ALL
                SELECT 'group_replication_unreachable_majority_timeout', '0',
                       'sessions of a primary that is cut off wait without an end', '10') w
            ON v.variable_name = w.setting AND v.variable_value = w.value) g;
