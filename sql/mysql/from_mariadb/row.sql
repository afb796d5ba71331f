-- MySQL's version of a procedure in sql/mariadb/schema/row.sql: without the fast path, which draws
-- from a SEQUENCE.

-- Grants a lease.
DROP PROCEDURE IF EXISTS rowlock_grant//
CREATE PROCEDURE rowlock_grant(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_owner VARBINARY(255), IN p_ttl_ms BIGINT,
    IN p_wait_ms BIGINT, IN p_ticket BIGINT, IN p_session BIGINT,
    IN p_host VARCHAR(255) CHARACTER SET utf8mb4, IN p_pid BIGINT,
    IN p_command VARCHAR(255) CHARACTER SET utf8mb4, IN p_note VARCHAR(1024) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    CALL rowlock_grant_wants(p_wants, p_owner, p_ttl_ms, p_wait_ms, p_ticket, p_session,
                             p_host, p_pid, p_command, p_note)//
