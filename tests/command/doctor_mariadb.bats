#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# doctor: the check that MariaDB alone has. The test has a server of its own, because the old row
# versions of all its databases count together.
# Runs on: mariadb/row
# Quick: never

load lib
load doctor.bash
load own_server.bash

setup_file() { use_own; }

oldest() { # the query of the advice
    sql "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx ORDER BY trx_started LIMIT 1"
}
has_oldest() { [ -n "$(oldest)" ]; }
undo_is() { rowlock doctor --only undo | grep -q "^$1"; }

@test "undo: an old transaction keeps many old row versions; the advice names and ends it" {
    ! is_mysql || skip "MySQL shows the number of old row versions only to an account with PROCESS"
    finds ok undo '*InnoDB keeps * old versions of rows'
    sql "CREATE TABLE many (n INT) ENGINE = InnoDB"
    sql "INSERT INTO many VALUES (0)"
    open_client
    in_client 'START TRANSACTION WITH CONSISTENT SNAPSHOT; SELECT * FROM many'
    until_true has_oldest
    as_root_of_mariadb test_own <<'SQL'
SET GLOBAL innodb_flush_log_at_trx_commit = 0;
DELIMITER //
BEGIN NOT ATOMIC
    FOR i IN 1 .. 100100 DO UPDATE many SET n = i; END FOR;
END//
SQL
    finds warn undo '*for an old transaction*-> end the oldest transaction: SELECT *'
    sql "KILL $(oldest)"
    exec 8>&-
    until_true undo_is ok
}
