-- Whether the row % of pg_locks is an advisory lock of this database with a key of 64 bits.
%.locktype = 'advisory' AND %.objsubid = 1
AND %.database = (SELECT d.oid FROM pg_catalog.pg_database d
                   WHERE d.datname = pg_catalog.current_database())
