-- The parameters of the statement job_claim (dialect.h).
IN p_name VARBINARY(255), IN p_token BIGINT, IN p_version BIGINT,
IN p_schedule VARCHAR(400) CHARACTER SET utf8mb4, IN p_instant BIGINT, IN p_due BIGINT,
IN p_repeats INT, IN p_former BIGINT, IN p_outcome VARCHAR(20) CHARACTER SET utf8mb4,
IN p_node VARCHAR(255) CHARACTER SET utf8mb4, IN p_pid BIGINT, IN p_at_least BIGINT,
IN p_history INT
