# Edits that turn MariaDB's schema into MySQL's, line by line. The files beside this one, one for
# each piece, hold the procedures that need more than that.

s/MariaDB/MySQL/
/^-- and with it the lock\. /a\
-- Tested on 8.0, 8.4 and 9.7. With autocommit = 0 a transaction always counts as open:\
-- rowlock_begin_... needs autocommit = 1.
s/mariadb client/mysql client/
s/mariadb-tzinfo-to-sql (.*) \| mariadb mysql/mysql_tzinfo_to_sql \1 | mysql mysql/

# MySQL has no CREATE OR REPLACE PROCEDURE, and no block outside a procedure.
s|^CREATE OR REPLACE PROCEDURE (rowlock_[a-z0-9_]*)|DROP PROCEDURE IF EXISTS \1//\
CREATE PROCEDURE \1|
/^BEGIN NOT ATOMIC$/,/^END/{
    s|^BEGIN NOT ATOMIC$|DROP PROCEDURE IF EXISTS rowlock_once//\
CREATE PROCEDURE rowlock_once()\
BEGIN|
    s|^END//$|&\
CALL rowlock_once()//\
DROP PROCEDURE rowlock_once//|
}

# DROP PROCEDURE removes what was granted on the procedure.
/^GRANT EXECUTE ON PROCEDURE \{procedure\}/{
    i\
-- On the whole database: an upgrade drops each procedure, and with it a grant on it alone.
    s/PROCEDURE \{procedure\}/*/
}
/^GRANT EXECUTE ON PROCEDURE \{history_procedure\}/d

# It does not offer technique insert (left_out), for whose table MariaDB's has EXECUTE IMMEDIATE.
/^-- technique insert: its table$/,$d
/^    IF v_technique = 'insert' AND v_owned THEN$/,/^    END IF;$/d
/^-- of technique insert$/{
    N
    d
}
s/ A table of technique insert that existed before stays\.//
s/-- technique insert: .*/-- not used/
/^-- Technique insert: does nothing\.$/d

# It has no SET STATEMENT ... FOR. The setting changes around the statement; a KILL QUERY, for which
# no handler runs there, leaves it to rowlock_restore_idle_limit. The shortest timeout is 1 s, so
# SKIP LOCKED needs none.
/^ *SET STATEMENT /{
    :join
    /;$/!{
        N
        b join
    }
    /SKIP LOCKED;$/s/^ *SET STATEMENT innodb_lock_wait_timeout = 1 FOR\n//
    s/^( *)SET STATEMENT lock_wait_timeout = [^,]*, /\1SET STATEMENT /
    s/^( *)SET STATEMENT innodb_lock_wait_timeout =[ \n]*(.*)[ \n]+FOR\n(.*)$/\1BEGIN\
\1    DECLARE v_row_wait INT\
\1        DEFAULT COALESCE(@rowlock_row_wait, @@innodb_lock_wait_timeout);\
\1    DECLARE EXIT HANDLER FOR SQLEXCEPTION\
\1    BEGIN\
\1        SET SESSION innodb_lock_wait_timeout = v_row_wait, @rowlock_row_wait = NULL;\
\1        RESIGNAL;\
\1    END;\
\
\1    SET @rowlock_row_wait = v_row_wait,\
\1        SESSION innodb_lock_wait_timeout = CAST(GREATEST(\2, 1) AS SIGNED);\
\3\
\1    SET SESSION innodb_lock_wait_timeout = v_row_wait, @rowlock_row_wait = NULL;\
\1END;/
    s/CAST\(GREATEST\([01], 1\) AS SIGNED\)/1/
}
s/LOCK IN SHARE MODE/FOR SHARE/

# It has no @@in_transaction: rowlock_in_transaction finds out.
s/^( *)(IF .*)@@in_transaction/\1CALL rowlock_in_transaction();\
\1\2@rowlock_open/

# It has no grant_free, for which alone `many` is 0 (left_out).
s/many = IF\(many = 2, 2, 0\)/many = many/
s/IF\(p_wants LIKE '%:x:%', 0, 1\)/1/

# It has no timeout for an idle transaction, but one for an idle session; no Galera, no
# max_statement_time.
s/idle_write_transaction_timeout/wait_timeout/g
s/@rowlock_idle IS NOT NULL/COALESCE(@rowlock_idle, @rowlock_row_wait) IS NOT NULL/
s/ OR @@GLOBAL\.wsrep_on//
/^-- Only a writable standalone server keeps locks/,/^-- variable counts/c\
-- Only a writable server keeps locks: a lock on a replica excludes no other session.
/^    ELSEIF @@GLOBAL\.wsrep_on THEN$/,/;$/d
s/1205, 1969/1205/
/^ *DECLARE EXIT HANDLER FOR 1969 /d
/IF\(@@max_statement_time > 0, [^,]*,$/N
s/IF\(@@max_statement_time > 0, [^,]*,[ \n]*/(/
s/ or max_statement_time that/ that/
s/, or 2 by max_statement_time\././
/^ *-- by max_statement_time$/d
s/: the caller's SET STATEMENT max_statement_time around the CALL/: only a KILL QUERY/
s/, 3 if$/./
/^-- max_statement_time did\./s/max_statement_time did\. //
/^-- Callers also check max_statement_time/,/^-- QUERY that hits/d

# The text of an error has 128 characters there.
s/, 500\);$/, 128);/
/^-- max_statement_time applies/,/^--     SET STATEMENT/d

# It has no SEQUENCE: rowlock_draw uses an AUTO_INCREMENT table.
s/^CREATE SEQUENCE IF NOT EXISTS rowlock_token/CREATE TABLE IF NOT EXISTS rowlock_token (\
    number BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY\
)/
/^DROP SEQUENCE/d
s/^GRANT SELECT, INSERT ON rowlock_token/GRANT SELECT, INSERT, DELETE ON rowlock_token/

# It shows locks in performance_schema, also if no session waits for them. Of each table only the
# columns are read that MariaDB's have too.
s/^( *)(FROM|JOIN) information_schema\.innodb_locks k$/\1\2 (SELECT engine_lock_id AS lock_id,\
\1             engine_transaction_id AS lock_trx_id, lock_mode, lock_data,\
\1             index_name AS lock_index,\
\1             CONCAT('`', object_schema, '`.`', object_name, '`') AS lock_table\
\1        FROM performance_schema.data_locks WHERE lock_type = 'RECORD') k/
s/^( *)JOIN information_schema\.innodb_lock_waits w ON w\.blocking_lock_id = (.*)$/\
\1JOIN (SELECT requesting_engine_transaction_id AS requesting_trx_id,\
\1             blocking_engine_lock_id AS blocking_lock_id\
\1        FROM performance_schema.data_lock_waits) w ON w.blocking_lock_id = \2/
s/^\n//
s/^-- PROCESS\), where another session waits for the row\.$/-- PROCESS, and SELECT on\
-- performance_schema.data_locks)./
s/^-- caller may see them \(privilege PROCESS\)\.$/-- caller may see them (privilege PROCESS, and\
-- SELECT on performance_schema.data_locks and data_lock_waits)./
s/^-- DROP\. PROCESS is optional and shows which session holds a row\.$/-- DROP.\
-- PROCESS, and SELECT on performance_schema.data_locks and data_lock_waits, are optional and show\
-- which session holds a row./
/^--   GRANT PROCESS ON/d

# Its view of transactions is empty: see views.sql.
/^-- Transactions that hold a name or wait for one appear/,/^$/c\
-- No view shows transactions that hold a name or wait for one.\

# Its information_schema.processlist cannot be read while any session runs a statement with a
# character of four bytes.
s/information_schema\.processlist/performance_schema.processlist/

# A session lock waits whole seconds.
s/IF\(p_limit_ms < 0, 30, p_limit_ms \/ 1000\)/IF(p_limit_ms < 0, 30, CEILING(p_limit_ms \/ 1000))/

# Other names and defaults.
s/utf8mb4_nopad_bin/utf8mb4_0900_bin/
s/@@(GLOBAL\.|SESSION\.)?tx_/@@\1transaction_/g
s/SET SESSION tx_isolation/SET SESSION transaction_isolation/
s|^( *)SELECT GROUP_CONCAT|\1SELECT /*+ SET_VAR(group_concat_max_len = 1048576) */\
\1       GROUP_CONCAT|

# MySQL 9.6 has no MD5. The name of a session lock has at most 64 characters there. MariaDB keeps
# MD5: after an upgrade with other names the waiters of the old version would look dead.
s/MD5\(DATABASE\(\)\)/LEFT(SHA2(DATABASE(), 256), 32)/
s/rowlock:MD5\(database\)/rowlock:SHA2(database)/
