-- The parameters % of a schedule in parts: see schedule_line.
% p_period BIGINT, % p_minutes BIGINT UNSIGNED, % p_hours BIGINT UNSIGNED,
% p_days BIGINT UNSIGNED, % p_months BIGINT UNSIGNED, % p_weekdays BIGINT UNSIGNED,
% p_any_day TINYINT, % p_shown TINYINT,
% p_zone VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
