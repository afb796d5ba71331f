-- The parameters of the statement grant (dialect.h); its wants have the type %.
IN p_wants %, IN p_owner VARBINARY(255), IN p_ttl_ms BIGINT,
IN p_wait_ms BIGINT, IN p_ticket BIGINT, IN p_session BIGINT,
IN p_host VARCHAR(255) CHARACTER SET utf8mb4, IN p_pid BIGINT,
IN p_command VARCHAR(255) CHARACTER SET utf8mb4, IN p_note VARCHAR(1024) CHARACTER SET utf8mb4
