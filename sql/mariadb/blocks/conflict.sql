-- The variables that find_conflicts sets.
DECLARE v_live, v_expired, v_clash BIGINT;
DECLARE v_expires DATETIME(6);
DECLARE v_name VARBINARY(255);
DECLARE v_detail VARCHAR(400) CHARACTER SET utf8mb4;
