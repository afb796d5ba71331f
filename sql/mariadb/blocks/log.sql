-- Writes to the history by the call %, and ignores an error there.
BEGIN                                   -- see rowlock_log_end
    DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
    DECLARE EXIT HANDLER FOR 1213 RESIGNAL;

    CALL %;
END;
