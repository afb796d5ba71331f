#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Transaction locks through MariaDB's procedures, from the mariadb client: their waits, their
# effects, and their refusals.
# Runs on: mariadb
# Quick: first
# Rest: mariadb

load mariadb

# The end of an error's text: MySQL cuts it off after 128 characters.
ends_with() { is_mysql || [[ $1 == *"$2" ]]; } # TEXT END

teardown() { close_sessions; }

is_row() { [ "$ROWLOCK_TEST_TECHNIQUE" = row ]; }
known() { [ "$(sql "SELECT count(*) FROM rowlock_name WHERE name = '$1'")" = 1 ]; }

@test "rowlock_begin_exclusive begins a transaction at READ COMMITTED, locks, and returns no rows" {
    run say "CALL rowlock_begin_exclusive('quiet'); SELECT @@in_transaction, @@tx_isolation; COMMIT"
    [ "$output" = $'1\tREAD-COMMITTED' ]
}

@test "in an open transaction rowlock_begin_exclusive refuses, and leaves it as it was" {
    run say "CREATE TABLE IF NOT EXISTS mine (n INT) ENGINE = InnoDB;
             START TRANSACTION; INSERT INTO mine VALUES (1);
             CALL rowlock_begin_exclusive('begun'); SELECT @@in_transaction, count(*) FROM mine;
             ROLLBACK; DROP TABLE mine"
    [[ ${lines[0]} == \
        "ERROR 30007 (RL007)"*"'begun' is not locked: a transaction is open; COMMIT or ROLLBACK"* ]]
    [ "${lines[1]}" = $'1\t1' ]
}

@test "outside a transaction the procedures that lock in one refuse" {
    refused="ERROR 30006 (RL006)*'none' is not locked: no transaction is open; begin*"
    each_says <<TEXT
$refused | CALL rowlock_exclusive('none')
$refused | CALL rowlock_shared('none')
$refused | CALL rowlock_try_exclusive('none', 0, @got)
$refused | CALL rowlock_try_shared('none', 0, @got)
$refused | CALL rowlock_unlock('none')
$refused | CALL rowlock_fence('none', 1)
ERROR 30006 (RL006)*'counter:none'* | CALL rowlock_next('none', @n)
TEXT
}

@test "at REPEATABLE READ, the server's default, they refuse, and nothing is locked" {
    sql "CALL rowlock_prepare('level')"
    advice=rowlock_begin_exclusive
    ! is_mysql || advice= # cut off
    for call in "exclusive('level')" "shared('level')" "try_exclusive('level', 0, @got)" \
        "unlock('level')"; do
        echo "ERROR 30001 (RL001)*'level' is not locked: the transaction is not*$advice" \
            $'open\t1* |' "START TRANSACTION; CALL rowlock_$call; SELECT 'open', @@in_transaction"
    done >refused
    each_says <refused
    rowlock run --tx -n level -- true
}

@test "a name is 1 to 255 bytes; every other value is refused everywhere" {
    long=$(printf 'ä%.0s' {1..128})
    for name in NULL "''" "'$long'"; do
        for call in "begin_exclusive($name)" "begin_shared($name)" "exclusive($name)" \
            "shared($name)" \
            "try_exclusive($name, 0, @x)" "try_shared($name, 0, @x)" "unlock($name)" \
                "prepare($name)" \
            "fence($name, 1)" "acquire($name, 60000, 'exclusive', NULL, @x)" "next($name, @x)"; do
            echo "ERROR 30003 (RL003)*a name must have 1 to 255 bytes of UTF-8 | CALL rowlock_$call"
        done
    done >refused
    each_says <refused
    whole=$(printf 'ä%.0s' {1..127})x
    run say "CALL rowlock_begin_exclusive('$whole'); SELECT 'locked'; COMMIT"
    [ "$output" = locked ]
}

@test "technique insert refuses shared locks" {
    ! is_row || return 0
    run say "CALL rowlock_begin_shared('shared')"
    [[ $output == "ERROR 30004 (RL004)"*"technique insert has exclusive locks only" ]]
}

@test "a wait for a row ends by innodb_lock_wait_timeout, of the session or of the call" {
    sql "CALL rowlock_prepare('other')"
    hold limited
    for first in "SET innodb_lock_wait_timeout = 1; CALL" \
        "SET STATEMENT innodb_lock_wait_timeout = 1 FOR CALL"; do
        ! is_mysql || [[ $first != *STATEMENT* ]] || continue
        run say "$first rowlock_begin_exclusive('limited'); SELECT @@in_transaction"
        [[ ${lines[0]} == \
            "ERROR 1205 (HY000)"*\
"'limited' is held by another transaction; try again, or wait longer"* ]]
        [ "${lines[1]}" = 0 ]
    done
    run say "CALL rowlock_begin_exclusive('other'); SET innodb_lock_wait_timeout = 1;
             CALL rowlock_exclusive('limited'); SELECT @@in_transaction; ROLLBACK"
    [[ ${lines[0]} == "ERROR 1205 (HY000)"*"'limited' is held by another transaction"* ]]
    [ "${lines[1]}" = 1 ]
    let_go
}

@test "a wait for a lease ends by innodb_lock_wait_timeout as well" {
    sql "CALL rowlock_prepare('other'); CALL rowlock_prepare('leased')"
    token=$(rowlock hold --for 10m --note 'ask Ann' leased)
    run say "SET innodb_lock_wait_timeout = 1; CALL rowlock_begin_exclusive('leased');
             SELECT @@in_transaction"
    [[ ${lines[0]} == \
        "ERROR 1205 (HY000)"*"'leased' is held by a lease on "*"ask Ann; try again"* ]]
    [ "${lines[1]}" = 0 ]
    run say "CALL rowlock_begin_exclusive('other'); SET innodb_lock_wait_timeout = 1;
             CALL rowlock_exclusive('leased'); SELECT @@in_transaction; ROLLBACK"
    [[ ${lines[0]} == \
        "ERROR 1205 (HY000)"*"'leased' is held by a lease"*"ask Ann"* ]]
    # technique row does not keep the row of a lease, which its holder must be able to renew
    [ "$ROWLOCK_TEST_TECHNIQUE" != insert ] ||
        ends_with "${lines[0]}" "stay locked until your transaction ends"
    [ "${lines[1]}" = 1 ]
    rowlock release leased --token "$token"
}

# A long limit: only max_statement_time can end the wait.
endless='SET innodb_lock_wait_timeout = 100000'

@test "every wait ends by max_statement_time" {
    ! is_mysql || skip "MySQL has no max_statement_time for a CALL"
    sql "CALL rowlock_prepare('other'); CALL rowlock_prepare('leased')"
    token=$(rowlock hold --for 10m --note test leased)
    hold locked
    for name in leased locked; do
        run say "$endless; SET max_statement_time = 1; CALL rowlock_begin_exclusive('$name');
                 SELECT @@in_transaction"
        [[ ${lines[0]} == "ERROR 1205 (HY000)"*"'$name' is held by "* ]]
        [ "${lines[1]}" = 0 ]
        run say "$endless; SET STATEMENT max_statement_time = 1
                 FOR CALL rowlock_begin_exclusive('$name');
                 SELECT 'next'"
        [[ ${lines[0]} == "ERROR 1205 (HY000)"*"'$name' is held by "* ]]
        run say "CALL rowlock_begin_exclusive('other'); $endless; SET max_statement_time = 1;
                 CALL rowlock_exclusive('$name'); SELECT @@in_transaction; ROLLBACK"
        [[ ${lines[0]} == "ERROR 1205 (HY000)"*"'$name' is held by "* ]]
        [ "${lines[1]}" = 1 ]
        run say "CALL rowlock_begin_exclusive('other'); SET max_statement_time = 1;
                 CALL rowlock_try_exclusive('$name', 600000, @got); SELECT @got IN (0, 2); ROLLBACK"
        [ "$output" = 1 ]
    done
    let_go
    rowlock release leased --token "$token"
}

@test "KILL QUERY ends a wait for a lease, in begin and in an open transaction" {
    sql "CALL rowlock_prepare('other'); CALL rowlock_prepare('leased')"
    token=$(rowlock hold --for 10m --note test leased)
    open_session a 4
    # The server drops a KILL QUERY for a statement that has just ended: then it is sent again.
    killed() { # TIMES
        ! sleeps a || sql "KILL QUERY $(session_of a)"
        [ "$(grep -c '^ERROR ' a)" = "$1" ]
    }
    interrupted() { # TIMES
        until_true killed "$1"
        cat a
        reason="'leased' was not locked: the statement was interrupted"
        # On MySQL no handler runs if it arrives between two sleeps: docs/limits.md.
        own='Query execution was interrupted'
        ! is_mysql || reason="$reason|$own"
        [ "$(grep -cE "^ERROR 1317 \(70100\).*($reason)" a)" = "$1" ]
    }
    echo "$endless; CALL rowlock_begin_exclusive('leased');" >&4
    interrupted 1
    ! grep -q "$own" a || echo "ROLLBACK;" >&4
    echo "SELECT 'one', @@in_transaction; CALL rowlock_begin_exclusive('other');
          CALL rowlock_exclusive('leased');" >&4
    interrupted 2
    echo "SELECT 'two', @@in_transaction; CALL rowlock_try_exclusive('leased', 6000000, @got);" >&4
    interrupted 3
    echo "SELECT 'three', @@in_transaction;" >&4
    until_true said a $'three\t1'
    said a $'one\t0'
    said a $'two\t1'
    rowlock release leased --token "$token"
}

@test "an unprepared name is refused in an open transaction, and begin_exclusive prepares it" {
    run say "CALL rowlock_begin_exclusive('first'); CALL rowlock_exclusive('unknown');
             SELECT @@in_transaction;
             COMMIT; CALL rowlock_prepare('unknown'); CALL rowlock_begin_exclusive('first');
             CALL rowlock_exclusive('unknown'); SELECT 'locked'; COMMIT"
    if is_row; then
        [[ ${lines[0]} == "ERROR 30008 (RL008)"*"'unknown' is not prepared: CALL rowlock_prep"* ]]
        [ "${lines[1]}" = 1 ]
        [ "${lines[2]}" = locked ]
    else
        [ "$output" = $'1\nlocked' ]
    fi
}

@test "rowlock_unlock removes the row with the COMMIT, and not with a ROLLBACK" {
    run say "CALL rowlock_begin_exclusive('gone'); CALL rowlock_unlock('gone'); ROLLBACK"
    [ -z "$output" ]
    ! is_row || known gone
    run say "CALL rowlock_begin_exclusive('gone'); CALL rowlock_unlock('gone'); COMMIT"
    [ -z "$output" ]
    run ! known gone
}

@test "p1 an unlocked name stays locked until COMMIT; then its waiter gets it" {
    open_session a 4
    open_session b 5
    echo "CALL rowlock_begin_exclusive('waited'); CALL rowlock_unlock('waited');
          SELECT 'unlocked';" >&4
    until_true said a unlocked
    run -75 rowlock run --tx -n waited -- true
    echo "CALL rowlock_begin_exclusive('waited'); SELECT 'locked';" >&5
    until_true waits_for_a_row b
    run ! said b locked
    echo 'COMMIT;' >&4
    until_true said b locked
    ! is_row || known waited
    run -75 rowlock run --tx -n waited -- true
    echo "COMMIT; SELECT 'over';" >&5
    until_true said b over
    rowlock run --tx waited -- true
}

@test "a waiter in an open transaction for an unlocked name gets the error 'not prepared'" {
    sql "CALL rowlock_prepare('open'); CALL rowlock_prepare('other')"
    open_session a 4
    open_session b 5
    echo "CALL rowlock_begin_exclusive('open'); SELECT 'locked';" >&4
    until_true said a locked
    echo "CALL rowlock_begin_exclusive('other'); SELECT 'begun'; CALL rowlock_exclusive('open');
          SELECT 'answered';" >&5
    until_true waits_for_a_row b
    # unlock keeps a row that a session waits for, so this one deletes it by hand
    echo "CALL rowlock_unlock('open'); DELETE FROM rowlock_name WHERE name = 'open'; COMMIT;
          SELECT 'over';" >&4
    until_true said b answered
    if is_row; then
        grep "^ERROR 30008 (RL008).*'open' is not prepared" b
    else
        run ! grep ERROR b
    fi
    echo 'ROLLBACK;' >&5
}

@test "rowlock_unlock keeps a name that another session shares, and does not wait" {
    if ! is_row; then return; fi
    open_session a 4
    open_session b 5
    for n in 4 5; do
        echo "CALL rowlock_begin_shared('several'); SELECT 'locked';" >&$n
    done
    until_true said a locked
    until_true said b locked
    echo "CALL rowlock_unlock('several'); SELECT 'unlocked'; COMMIT; SELECT 'over';" >&4
    until_true said a over
    known several
    echo "CALL rowlock_unlock('several'); COMMIT; SELECT 'over';" >&5
    until_true said b over
    run ! known several
}

@test "rowlock_vacuum returns how many it removed, keeps locked ones, refuses in a transaction" {
    run say "START TRANSACTION; CALL rowlock_vacuum(@n)"
    [[ $output == "ERROR 30007 (RL007)"*"COMMIT or ROLLBACK first" ]]
    sql "CALL rowlock_vacuum(@n)"
    rows=0
    if is_row; then
        rowlock run --tx a b -- true
        rows=2
    else
        sql "INSERT INTO rowlock_object (uuid, id) VALUES ('left', 'left over')"
        rows=1
    fi
    hold kept
    run say "CALL rowlock_vacuum(@n); SELECT @n, @@in_transaction; CALL rowlock_vacuum(@n);
             SELECT @n"
    [ "$output" = "$rows"$'\t0\n0' ]
    ! is_row || known kept
    let_go
}

@test "a prepared name stays prepared through vacuum, for every procedure, until rowlock_unlock" {
    for name in once counter:once subject:once; do sql "CALL rowlock_prepare('$name')"; done
    rowlock run --tx once -- true
    run say "CALL rowlock_vacuum(@n); CALL rowlock_vacuum(@n); $committed_level; START TRANSACTION;
             CALL rowlock_exclusive('once'); CALL rowlock_next('once', @number);
             CALL rowlock_refresh('once', 0, NULL, NULL, NULL, NULL, @version);
             SELECT @n, @number, @version > 0; CALL rowlock_unlock('once'); COMMIT"
    [ "$output" = $'0\t1\t1' ]
    is_row || return 0
    run say "$committed_level; START TRANSACTION; CALL rowlock_exclusive('once')"
    [[ $output == "ERROR 30008 (RL008)"* ]]
    sql "CALL rowlock_prepare('once')"
    rowlock vacuum
    sql "CALL rowlock_vacuum(@n)"
    known once
}

# The row is missing while vacuum, which has deleted it, has not committed.
@test "a name that is prepared while vacuum deletes its row is prepared afterwards" {
    is_row || return 0
    rowlock run --tx raced -- true
    open_session a 4
    echo "START TRANSACTION; DELETE FROM rowlock_name WHERE name = 'raced'; SELECT 'gone';" >&4
    until_true said a gone
    sql "CALL rowlock_prepare('raced')"
    echo "COMMIT; CALL rowlock_vacuum(@n); SELECT 'over';" >&4
    until_true said a over
    known raced
}

@test "technique insert: a committed row blocks the name, and the error names who can remove it" {
    if is_row; then return; fi
    sql "INSERT INTO rowlock_object (uuid, id) VALUES ('forgotten', 'left')"
    run say "CALL rowlock_begin_exclusive('left')"
    [[ $output == \
        "ERROR 30009 (RL009)"*\
"'left' is held by a committed row, which rowlock_vacuum deletes: uuid forgotten"* ]]
    run say "CALL rowlock_vacuum(@n); SELECT @n; CALL rowlock_begin_exclusive('left');
             SELECT 'locked'; COMMIT"
    [ "$output" = $'1\nlocked' ]
}

@test "a name may contain quotes, and text that looks like SQL" {
    sql "CALL rowlock_prepare('it''s; DROP TABLE rowlock_meta -- \\\\ \"')"
    run say "CALL rowlock_begin_exclusive('it''s; DROP TABLE rowlock_meta -- \\\\ \"');
             SELECT 'locked'; COMMIT;
             SELECT count(*) FROM rowlock_meta"
    [ "$output" = $'locked\n1' ]
}
