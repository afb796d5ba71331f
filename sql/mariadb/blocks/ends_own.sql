-- For procedures outside a transaction: an error ends the transaction, restores the isolation
-- level of the session, and is raised again. A transaction that was open before stays open. Follows
-- all declarations of variables; restores_own ends the procedure.
DECLARE v_open TINYINT DEFAULT 1;
DECLARE v_isolation VARCHAR(32) CHARACTER SET ascii DEFAULT @@SESSION.tx_isolation;
DECLARE EXIT HANDLER FOR SQLEXCEPTION
BEGIN
    IF NOT v_open THEN
        ROLLBACK AND NO CHAIN NO RELEASE;
    END IF;
    {restores_own};
    RESIGNAL;
END;

IF NOT @@in_transaction THEN
    SET v_open = 0;
END IF;
