-- A timeout (2) or an interrupt (7) ends the transaction and is a status.
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
