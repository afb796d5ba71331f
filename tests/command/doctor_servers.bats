#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# doctor: settings and roles of a server. The test has a server of its own, whose clock it
# sets by libfaketime.
# Runs on: postgresql/native mariadb/row
# Quick: postgresql/native

load lib
load doctor.bash
load own_server.bash

safe=(-c fsync=on -c full_page_writes=on)
[ "${ROWLOCK_TEST_ENGINE:-}" = postgresql ] || safe=(--innodb-flush-log-at-trx-commit=1)

start_own() { # [OPTION...]
    local server_environment=(FAKETIME_TIMESTAMP_FILE="$BATS_FILE_TMPDIR/clock" FAKETIME_NO_CACHE=1
        DONT_FAKE_MONOTONIC=1
        LD_PRELOAD="$(find /usr/lib/*/faketime -name libfaketime.so.1 -print -quit)")
    "start_$ROWLOCK_TEST_ENGINE" "$own" "$@"
}
set_clock() { # OFFSET
    echo "$1" >"$BATS_FILE_TMPDIR/clock.new"
    chmod 644 "$BATS_FILE_TMPDIR/clock.new"
    mv "$BATS_FILE_TMPDIR/clock.new" "$BATS_FILE_TMPDIR/clock"
}
setup_file() {
    local folder
    for folder in "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"; do chmod a+x "$folder"; done
    set_clock +0
    use_own "${safe[@]}"
    rowlock schema install
}
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    set_clock +0
}

@test "server: its version; a standby or read-only server is a failure, one that is down is 69" {
    finds ok server '*.*, *'
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        start_standby "$own-standby" "$own"
        url=${server_url}test_own
        ;;
    mariadb)
        sql 'SET GLOBAL read_only = 1'
        url=$ROWLOCK_TEST_URL
        ;;
    esac
    run rowlock --db "$url" doctor --only server
    case $ROWLOCK_TEST_ENGINE in
    postgresql) stop_server "$own-standby" ;;
    mariadb) sql 'SET GLOBAL read_only = 0' ;;
    esac
    [ "$status" = 2 ]
    [[ $output == FAIL*server*"cannot keep a lock: it is "*"-> use the URL of the server that "* ]]
    away=$ROWLOCK_TEST_ENGINE://tester@127.0.0.1:$(free_port)/test_own
    for only in server privileges; do
        run -69 rowlock --db "$away" doctor --only $only
        [[ $output == FAIL*server*"-> check that the server runs"* ]]
    done
    run -69 rowlock --db "$away" doctor
    [[ $output == *"  url  "*FAIL*"  server  "*"  guard  "* ]]
}

@test "durability: this server keeps commits, the one for the other tests does not" {
    finds ok durability '*keep commits*'
    stop_server "$own"
    start_own
    finds warn durability '*after a crash of its machine a lease may be lost*-> *'
    stop_server "$own"
    start_own "${safe[@]}"
}

@test "isolation and read-only: defaults that refuse a lock inside the caller's transaction" {
    finds ok isolation '*transactions are RE* by default*'
    finds ok read-only '*transactions may write by default'
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        sql "ALTER ROLE tester SET default_transaction_isolation = 'serializable';
             ALTER ROLE tester SET default_transaction_read_only = on"
        ;;
    mariadb)
        sql 'SET GLOBAL TRANSACTION ISOLATION LEVEL SERIALIZABLE;
             SET GLOBAL TRANSACTION READ ONLY'
        ;;
    esac
    finds warn isolation '*transactions are SERIALIZABLE by default: *'
    finds warn read-only '*transactions are read-only by default: *'
    finds ok self-test '*' # rowlock states both in its own transactions
    for check in isolation read-only; do
        advice $check >advice
        sql "$(cat advice)"
        finds ok $check '*'
    done
}

@test "transactions: one that holds a name for more than 5 minutes" {
    finds ok transactions '*no reported transaction*'
    open_client
    case $ROWLOCK_TEST_ENGINE in
    postgresql) # a name that no table contains, and one of a counter, which has a name
        rowlock next numbers >/dev/null
        in_client "BEGIN; SELECT rowlock.exclusive('held'), rowlock.exclusive('counter:numbers')"
        ;;
    mariadb) # the server reports a holder to those who wait for it
        in_client "CALL rowlock_begin_exclusive('held')"
        ;;
    esac
    start_rowlock run --tx -w 1h held -- true
    until_true somebody_waits
    finds ok transactions '*'
    set_clock +10m
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        finds warn transactions '*server session [0-9]* holds a name since 20*Z; *'
        [[ $output == *"'counter:numbers' is held since 20"*", server session "[0-9]* ]]
        [[ $output == *"-> "*pg_terminate_backend* ]]
        ;;
    mariadb) # the server shows its time to an account with PROCESS
        finds warn transactions "*'held' is held since 20*" --db "$ROWLOCK_TEST_ADMIN"
        ;;
    esac
    exec 8>&-
    wait "${all_started[@]}" || true
    finds ok transactions '*'
}

@test "clock: names the limit of idle sessions that ended its own; the other checks continue" {
    finds ok clock 'ok    clock         steady over 2 s*'
    case $ROWLOCK_TEST_ENGINE in
    postgresql) sql "ALTER ROLE tester SET idle_session_timeout = '1s'" ;;
    mariadb) sql 'SET GLOBAL wait_timeout = 1' ;;
    esac
    finds FAIL clock '*ended this session*-> raise *idle_session_timeout*wait_timeout*'
    run rowlock doctor
    [ "$status" = 2 ]
    [[ $output == *FAIL*clock*'ended this session'*"ok    self-test "* ]]
    case $ROWLOCK_TEST_ENGINE in
    postgresql) sql 'ALTER ROLE tester RESET idle_session_timeout' ;;
    mariadb) sql 'SET GLOBAL wait_timeout = DEFAULT' ;;
    esac
    finds ok clock '*'
}
