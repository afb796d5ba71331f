-- The same, unless the caller's transaction was open before (v_open).
DECLARE EXIT HANDLER FOR SQLEXCEPTION
BEGIN
    IF NOT v_open THEN
        ROLLBACK AND NO CHAIN NO RELEASE;
    END IF;
    RESIGNAL;
END;
