#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# One lock through three doors: a lock that a session of psql (or the mariadb client) acquires by
# the functions excludes other sessions and the C program, and the other way round.
# Runs on: postgresql mariadb
# Quick: first

load lib

setup_file() { install_technique; }
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    rowlock run --tx x -- true # with technique row the name is prepared
}
teardown() {
    exec 4>&- 5>&-
    wait
}

client() { # reads statements from its standard input, like those of a person at a terminal
    case $ROWLOCK_TEST_ENGINE in
    postgresql) psql -qXAt "$ROWLOCK_TEST_URL" ;;
    mariadb) as_root_of_mariadb -N -B --unbuffered "${ROWLOCK_TEST_URL##*/}" ;;
    esac
}
open_session() { # NAME DESCRIPTOR: a client that writes its answers to the file NAME
    mkfifo "$1.in"
    client <"$1.in" >"$1" 2>&1 3>&- 4>&- 5>&- &
    eval "exec $2>$1.in"
}
said() { grep -qx "$2" "$1"; }

begin_and_lock() { # DESCRIPTOR
    case $ROWLOCK_TEST_ENGINE in
    postgresql) echo "BEGIN; SELECT rowlock.exclusive('x'); SELECT 'locked';" >&"$1" ;;
    mariadb) echo "CALL rowlock_begin_exclusive('x'); SELECT 'locked';" >&"$1" ;;
    esac
}
try_to_lock() { # DESCRIPTOR: answers got=0 or got=1
    case $ROWLOCK_TEST_ENGINE in
    postgresql) echo "BEGIN; SELECT 'got=' || rowlock.try_exclusive('x')::int; COMMIT;" >&"$1" ;;
    mariadb)
        echo "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION;
              CALL rowlock_try_exclusive('x', 0, @got); SELECT CONCAT('got=', @got); COMMIT;" >&"$1"
        ;;
    esac
}

@test "p1 two sessions of the database's own client exclude each other and the C program" {
    open_session a 4
    open_session b 5
    begin_and_lock 4
    until_true said a locked
    try_to_lock 5
    until_true said b got=0
    run rowlock run --tx -n x -- true
    [ "$status" = 75 ]
    begin_and_lock 5
    until_true somebody_waits
    run ! said b locked
    echo 'COMMIT;' >&4
    until_true said b locked
    run rowlock run --tx -n x -- true
    [ "$status" = 75 ]
    echo 'COMMIT;' >&5
    rowlock run --tx x -- true
}

@test "p1 a lock of the C program excludes a session of the database's own client" {
    open_session a 4
    mkfifo release
    rowlock run --tx x -- sh -c 'touch held; cat release >/dev/null' 3>&- 4>&- &
    until_true is_there held
    try_to_lock 4
    until_true said a got=0
    begin_and_lock 4
    until_true somebody_waits
    : >release
    until_true said a locked
    echo 'COMMIT;' >&4
}

@test "a refusal by an SQL function names the lock, the holder, and the note" {
    token=$(rowlock hold --for 1m --note 'ask Ann' x)
    case $ROWLOCK_TEST_ENGINE in
    postgresql) echo "BEGIN; SET LOCAL lock_timeout = '100ms'; SELECT rowlock.exclusive('x');" >in \
        ;;
    mariadb) echo "SET innodb_lock_wait_timeout = 1; CALL rowlock_begin_exclusive('x');" >in ;;
    esac
    run client <in
    rowlock release x --token "$token"
    echo "$output"
    [[ $output == *"rowlock: "[\'\"]x[\'\"]" is held by "*"ask Ann"* ]]
}

commented() { # a client that reports its own steps
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        sql "SELECT DISTINCT 'rowlock.' || proname FROM pg_proc
             WHERE pronamespace = 'rowlock'::regnamespace
             AND obj_description(oid, 'pg_proc') NOT LIKE 'internal:%'"
        ;;
    mariadb)
        sql "SELECT routine_name FROM information_schema.routines
             WHERE routine_schema = database() AND routine_comment <> ''"
        ;;
    esac
}
@test "each public function has a comment that explains it, and the manual page lists it" {
    commented | sort >commented
    separator=.
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || separator=_
    grep -oE "^rowlock[$separator][a-z_]+\(" "$BATS_TEST_DIRNAME/../../man/verbs/schema.txt" |
        tr -d '(' | sort -u >listed
    diff listed commented
    [ "$(wc -l <listed)" -ge 8 ]
}
