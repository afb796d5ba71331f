#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# rowlock_refresh and rowlock_refreshed: stale data is refreshed once, in the caller's transaction.
# They call rowlock_exclusive, and what conformance/refresh calls on every technique.
# Runs on: mariadb
# Quick: first

load mariadb

setup_file() { install_technique; }
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    NAME="rates $BATS_TEST_NUMBER"
    sql "CALL rowlock_prepare('subject:$NAME')"
}
teardown() { close_sessions; }

begin="$committed_level; START TRANSACTION"
refresh() { # MAX_AGE_MS WAIT_MS [HOST, PID, PROGRAM]
    echo "SET @v = -1; CALL rowlock_refresh('$NAME', $1, $2, ${3:-NULL, NULL, NULL}, @v);" \
        "SELECT CONCAT('version ', COALESCE(@v, 'none'))"
}
refreshed() { echo "CALL rowlock_refreshed('$NAME', $1)"; }
status() {
    sql "SELECT CONCAT(status, ' ', made) FROM rowlock_subjects WHERE name = '$NAME'"
}
refresh_once() { say "$begin; $(refresh NULL NULL); $(refreshed @v); COMMIT"; }
is_complete() { [ "$(status)" = "COMPLETE 1" ]; }

@test "stale data is refreshed, and then fresh until its age, an expiry, or a clock set back" {
    [ "$(say "$begin; $(refresh 3600000 NULL); $(refreshed 1); COMMIT")" = "version 1" ]
    is_complete
    for age in 3600000 9223372036854775807 NULL; do
        [ "$(say "$begin; $(refresh $age NULL); COMMIT")" = "version none" ]
    done
    for age in 0 -1; do
        [ "$(say "$begin; $(refresh $age NULL); ROLLBACK")" = "version 2" ]
    done
    rowlock expire "$NAME"
    [ "$(refresh_once)" = "version 2" ]
    sql "UPDATE rowlock_subject SET updated = updated + 7200000 WHERE name = '$NAME'"
    [ "$(say "$begin; $(refresh 3600000 NULL); ROLLBACK")" = "version 3" ]
    [ "$(say "$begin; $(refresh NULL NULL); COMMIT")" = "version none" ]
}

@test "a caller that finds fresh data waits for no lock" {
    refresh_once
    open_session a 4
    echo "$begin; CALL rowlock_exclusive('subject:$NAME'); SELECT 'locked';" >&4
    until_true said a locked
    [ "$(say "$begin; $(refresh 3600000 NULL); COMMIT")" = "version none" ]
}

@test "of two callers at once one refreshes; the other waits, and finds the data fresh" {
    open_session a 4
    open_session b 5
    echo "$begin; $(refresh 3600000 NULL);" >&4
    until_true said a 'version 1'
    echo "$begin; $(refresh 3600000 NULL);" >&5
    until_true somebody_waits
    echo "$(refreshed 1); COMMIT;" >&4
    until_true said b 'version none'
}

@test "busy: 0 within wait_ms, and the transaction continues; an error without one" {
    open_session a 4
    echo "$begin; $(refresh NULL NULL);" >&4
    until_true said a 'version 1'
    for wait in 0 300; do
        [ "$(say "$begin; $(refresh NULL $wait); SELECT @@in_transaction; COMMIT")" = \
            $'version 0\n1' ]
    done
    run say "$begin; SET innodb_lock_wait_timeout = 1; $(refresh NULL NULL)"
    [[ $output == "ERROR 1205 (HY000)"*"'subject:$NAME' is held by"* ]]
    run say "$begin; $(refresh NULL 0); $(refreshed 0)"
    [[ $output == *"ERROR 1644 (RL005)"* ]]
}

@test "only the transaction that began a refresh completes it, and once" {
    lost="ERROR 1644 (RL005)*this transaction does not refresh '$NAME'*"
    run say "$begin; $(refresh NULL NULL); COMMIT; START TRANSACTION; $(refreshed 1)"
    # shellcheck disable=SC2053
    [[ $output == *$lost ]]
    [ "$(status)" = "ERROR 0" ] # committed without rowlock_refreshed
    for between in "ROLLBACK; START TRANSACTION" "$(refreshed 2)" "SAVEPOINT s; ROLLBACK TO s;
        ROLLBACK" "CREATE TABLE ddl_$BATS_TEST_NUMBER (n INT); DROP TABLE ddl_$BATS_TEST_NUMBER"; do
        run say "$begin; $(refresh NULL NULL); $between; $(refreshed 2)"
        # shellcheck disable=SC2053
        [[ $output == *$lost ]]
        sql "UPDATE rowlock_subject SET version = 1 WHERE name = '$NAME'"
    done
    run say "$begin; SAVEPOINT s; $(refresh NULL NULL); ROLLBACK TO s; $(refreshed 2)"
    # shellcheck disable=SC2053
    [[ $output == *$lost ]]
    [ "$(say "$begin; SAVEPOINT s; $(refresh NULL NULL); RELEASE SAVEPOINT s; COMMIT")" = \
        "version 2" ]
    for call in "'$NAME', NULL" "NULL, 1"; do
        run say "$begin; CALL rowlock_refreshed($call)"
        [[ $output == "ERROR 1644 (RL005)"* ]]
    done
}

@test "one after the other in one transaction: two subjects are refreshed" {
    sql "CALL rowlock_prepare('subject:bonds')"
    [ "$(say "$begin; $(refresh NULL NULL); $(refreshed @v);
              $(NAME=bonds refresh NULL NULL); $(NAME=bonds refreshed @v); COMMIT")" = \
        $'version 1\nversion 1' ]
    is_complete && NAME=bonds is_complete
}

@test "who refreshes is shown: the names that are given, or what the server knows" {
    shown="SELECT CONCAT_WS('/', host, pid, program) FROM rowlock_subjects WHERE name = '$NAME'"
    say "$begin; $(refresh NULL NULL "'web3', 7, 'loader'"); $(refreshed 1); COMMIT"
    [ "$(sql "$shown")" = web3/7/loader ]
    say "$begin; $(refresh 0 NULL); $(refreshed 2); COMMIT"
    [[ $(sql "$shown") == *"/session "*" of root" ]]
}

@test "names, levels and sessions without a transaction are refused, also if the data is fresh" {
    refresh_once
    refreshes() { # NAME
        echo "$begin; CALL rowlock_refresh($1, 1000, NULL, NULL, NULL, NULL, @v)"
    }
    {
        echo "ERROR 1644 (RL001)*'subject:$NAME'* | START TRANSACTION; $(refresh 3600000 NULL)"
        echo "ERROR 1644 (RL006)*'subject:$NAME'* | $committed_level; $(refresh 3600000 NULL)"
        for name in NULL "''" "REPEAT('x', 248)"; do
            echo "ERROR 1644 (RL003)* | $(refreshes "$name")"
        done
        [ "$ROWLOCK_TEST_TECHNIQUE" != row ] ||
            echo "ERROR 1644 (RL008)* | $(refreshes "'new'")"
    } >refused
    each_says <refused
}
