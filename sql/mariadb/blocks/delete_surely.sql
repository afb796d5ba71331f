-- DELETE FROM %, where at least one row to delete exists and is locked.
REPEAT -- a killed DELETE may report no error: see rowlock_drop
    DELETE FROM %;
UNTIL ROW_COUNT() > 0 END REPEAT;
