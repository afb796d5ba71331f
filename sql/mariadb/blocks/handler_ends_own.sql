-- An error ends the transaction and is raised again. A transaction that was open before the call
-- (v_open) stays open.
DECLARE EXIT HANDLER FOR SQLEXCEPTION
BEGIN
    IF NOT v_open THEN
        ROLLBACK AND NO CHAIN NO RELEASE;
    END IF;
    RESIGNAL;
END;
