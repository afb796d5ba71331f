-- The transaction ends with a status: 2 the time is up, 7 it was interrupted.
DECLARE EXIT HANDLER FOR 1205, 1969
BEGIN
    ROLLBACK AND NO CHAIN NO RELEASE;
    SET p_status = 2;
END;
DECLARE EXIT HANDLER FOR 1317
BEGIN
    ROLLBACK AND NO CHAIN NO RELEASE;
    SET p_status = 7;
END;
