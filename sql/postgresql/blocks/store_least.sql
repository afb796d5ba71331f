-- True, and the last condition of a grant %: at every 127th number it stores the least token.
CASE WHEN pg_catalog.mod(%.number, 127::bigint) = 0
     THEN rowlock.store_least(%.name, %.number) IS NOT NULL ELSE true END
