-- Writes the end of the lease p_token to the history, and ignores an error there.
BEGIN                                   -- see rowlock_log_end
    DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
    DECLARE EXIT HANDLER FOR 1213 RESIGNAL;

    CALL rowlock_log_end(p_token, 1);
END;
