-- Counts the end of a run, with these arguments, if the account may.
BEGIN                                   -- see rowlock_count_run
    DECLARE CONTINUE HANDLER FOR 1370 BEGIN END;

    CALL rowlock_count_run(%);
END;
