-- The job as the caller configures it (decide.h).
IN p_name VARBINARY(255), IN p_schedule VARCHAR(400) CHARACTER SET utf8mb4,
IN p_early_ms BIGINT, IN p_retry INT, IN p_backoff_ms BIGINT, IN p_skips_missed TINYINT
