-- rowlock on MariaDB: removes all objects that install.sql and the techniques created; waits for
-- transactions that still use them. A table of technique insert that existed before stays.

{own_mode};

DELIMITER //
BEGIN NOT ATOMIC
    DECLARE v_object VARCHAR(200) CHARACTER SET utf8mb4;
    DECLARE v_technique VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE v_owned TINYINT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR NOT FOUND, 1054, 1146 BEGIN END;

    SELECT technique, object, owned INTO v_technique, v_object, v_owned FROM rowlock_meta;
    IF v_technique = 'insert' AND v_owned THEN
        EXECUTE IMMEDIATE CONCAT('DROP TABLE IF EXISTS ', v_object);
    END IF;
    -- A half-removed schema does not count as installed. The table itself is dropped last, so that
    -- the next uninstall knows what to remove. TRUNCATE waits for transactions that have read it;
    -- UPDATE would not.
    IF v_technique IS NOT NULL THEN
        TRUNCATE TABLE rowlock_meta;
        INSERT INTO rowlock_meta (version, technique, object, id_width, owned)
            VALUES (0, v_technique, v_object, NULL, v_owned);
    END IF;
END//
DELIMITER ;

DROP PROCEDURE IF EXISTS {procedure};
DROP PROCEDURE IF EXISTS {history_procedure};
-- of technique insert
DROP PROCEDURE IF EXISTS rowlock_adopt;

DROP VIEW IF EXISTS {view};
-- of an interrupted install
DROP PROCEDURE IF EXISTS rowlock_installing;
DROP VIEW IF EXISTS rowlock_installing_view;
DROP TABLE IF EXISTS rowlock_installing_table;
DROP TABLE IF EXISTS {table};
DROP SEQUENCE IF EXISTS rowlock_token;
DROP TABLE IF EXISTS rowlock_meta;

{former_mode};
