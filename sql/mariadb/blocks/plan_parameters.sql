-- The parameters of the statement job_plan (dialect.h).
IN p_name VARBINARY(255), IN p_version BIGINT,
IN p_schedule VARCHAR(400) CHARACTER SET utf8mb4, IN p_due BIGINT, IN p_former BIGINT,
IN p_outcome VARCHAR(20) CHARACTER SET utf8mb4
