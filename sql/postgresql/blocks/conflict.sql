-- The status by the conflicting leases l: 0 none; 3 a live one; 4 only expired ones.
CASE WHEN pg_catalog.count(*) = 0 THEN 0
     WHEN pg_catalog.bool_or(
         {expires_of l}
         > pg_catalog.clock_timestamp()) THEN 3
     ELSE 4 END
