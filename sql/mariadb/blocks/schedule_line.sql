-- A schedule in parts, which rowlock_take_schedule sets.
DECLARE v_period BIGINT;
DECLARE v_minutes, v_hours, v_days, v_months, v_weekdays BIGINT UNSIGNED;
DECLARE v_any_day, v_shown TINYINT;
DECLARE v_zone VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
