-- For procedures outside a transaction: an error ends the transaction and is raised again. One that
-- was open before the call stays open. Follows all declarations of variables.
DECLARE v_open TINYINT DEFAULT 1;
DECLARE EXIT HANDLER FOR SQLEXCEPTION
BEGIN
    IF NOT v_open THEN
        ROLLBACK AND NO CHAIN NO RELEASE;
    END IF;
    RESIGNAL;
END;

IF NOT @@in_transaction THEN
    SET v_open = 0;
END IF;
