-- For procedures with a transaction of their own: an error ends it and is raised again.
DECLARE EXIT HANDLER FOR SQLEXCEPTION
BEGIN
    ROLLBACK AND NO CHAIN NO RELEASE;
    RESIGNAL;
END;
