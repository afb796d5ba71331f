-- 'PROCEDURE *' is a grant of EXECUTE on the database. The catalog does not show a DELETE that a
-- role grants, so this tries a DELETE of no row.
BEGIN NOT ATOMIC
    DECLARE v_may TEXT CHARACTER SET utf8mb4 DEFAULT ',';
    DECLARE v_denied TINYINT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET v_denied = 1;

    FOR one IN (SELECT t.table_name AS name FROM information_schema.tables t
                  WHERE t.table_schema = DATABASE() AND t.table_name LIKE 'rowlock\_%'
                    AND t.table_type = 'BASE TABLE') DO
        SET v_denied = 0;
        EXECUTE IMMEDIATE CONCAT('DELETE FROM `', one.name, '` WHERE 0');
        IF NOT v_denied THEN
            SET v_may = CONCAT(v_may, one.name, ',');
        END IF;
    END FOR;
    {privileges_shown}
    UNION ALL
    SELECT t.table_name, 'DELETE', NULL
      FROM information_schema.tables t
     WHERE t.table_schema = DATABASE() AND t.table_name LIKE 'rowlock\_%'
       AND FIND_IN_SET(t.table_name, v_may) > 0;
END;
