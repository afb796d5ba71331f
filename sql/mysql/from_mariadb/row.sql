-- MySQL's version of a procedure in sql/mariadb/schema/row.sql: without the fast path, which draws
-- from a SEQUENCE.

-- Grants a lease.
DROP PROCEDURE IF EXISTS rowlock_grant//
CREATE PROCEDURE rowlock_grant(
    {grant_parameters LONGTEXT CHARACTER SET ascii})
    SQL SECURITY INVOKER MODIFIES SQL DATA
    CALL rowlock_grant_wants(p_wants, p_owner, p_ttl_ms, p_wait_ms, p_ticket, p_session,
                             p_host, p_pid, p_command, p_note)//
