# Edits that turn MariaDB's schema into MySQL's, line by line. The files beside this one, one for
# each piece, hold the procedures that need more than that.

1s/on MariaDB/on MySQL (not tested)/
s/MariaDB/MySQL/
s/mariadb client/mysql client/

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
s|^( *)EXECUTE IMMEDIATE (.*);$|\1SET @rowlock_text = \2;\
\1PREPARE rowlock_statement FROM @rowlock_text;\
\1EXECUTE rowlock_statement;\
\1DEALLOCATE PREPARE rowlock_statement;|

# It has no @@in_transaction: rowlock_in_transaction finds out.
s/^( *)(IF .*)@@in_transaction/\1CALL rowlock_in_transaction();\
\1\2@rowlock_open/

# It has no timeout for an idle transaction, no Galera, no max_statement_time.
/^ *IF @rowlock_idle IS NOT NULL THEN/,/END IF;$/d
/^ *ELSEIF .* p_session = CONNECTION_ID\(\) THEN$/,/CALL rowlock_set_idle_limit\(\);$/d
s/ OR @rowlock_idle IS NOT NULL//
s/ OR @@GLOBAL\.wsrep_on//
s/1205, 1969/1205/
/^ *DECLARE EXIT HANDLER FOR 1969 /d
s/@@max_statement_time/0/g
/^ *SET STATEMENT lock_wait_timeout = (1|p_seconds), innodb_lock_wait_timeout = \1 FOR$/d

# The text of an error has 128 characters there.
s/, 500\);$/, 128);/
/^-- max_statement_time applies/,/^--     SET STATEMENT/d

# It has no SEQUENCE: rowlock_draw uses an AUTO_INCREMENT table.
s/^CREATE SEQUENCE IF NOT EXISTS rowlock_token/CREATE TABLE IF NOT EXISTS rowlock_token (\
    number BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY\
)/
s/^DROP SEQUENCE/DROP TABLE/
s/^GRANT SELECT, INSERT ON rowlock_token/GRANT SELECT, INSERT, DELETE ON rowlock_token/
s/SELECT LASTVAL\(rowlock_token\) INTO (v_[a-z]*);/SET \1 = @rowlock_drawn;/

# Other names and defaults.
s/utf8mb4_nopad_bin/utf8mb4_0900_bin/
s/@@tx_isolation/@@transaction_isolation/
s|^( *)SELECT GROUP_CONCAT|\1SELECT /*+ SET_VAR(group_concat_max_len = 1048576) */\
\1       GROUP_CONCAT|
