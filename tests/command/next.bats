#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# next: gapless numbers for scripts.
# Runs on: sqlite postgresql mariadb
# Quick: first

load lib

@test "next counts from 1, or begins at --start, once; it draws --count numbers" {
    [ "$(rowlock next plain)" = 1 ]
    [ "$(rowlock next plain)" = 2 ]
    [ "$(rowlock next --start 1000 --count 3 block | paste -sd' ')" = "1000 1001 1002" ]
    [ "$(rowlock next --start 5 block)" = 1003 ]
    [ "$(rowlock --json next --count 10 block)" = '{"name":"block","first":1004,"last":1013}' ]
    [ "$(rowlock next --start -3 below)" = -3 ]
}

@test "while the counter's name is held, next waits according to its options" {
    rowlock hold --for 1m --note "books are closed" counter:closed
    run -75 rowlock next -n closed
    [[ $output == *"books are closed"* ]]
    run -9 rowlock next -w 1 -E 9 closed
    rowlock break --now counter:closed
    [ "$(rowlock next closed)" = 1 ]
}

@test "next refuses an invalid counter or number" {
    for wrong in "--count 0 a" "--count x a" "--count 1000001 a" "--start 1.5 a" "a b" ""; do
        # shellcheck disable=SC2086
        runs 64 rowlock next $wrong
    done
    run -64 rowlock next "$(printf 'c%.0s' $(seq 248))"
    [[ $output == *"247 bytes"* ]]
}

@test "next draws no number that cannot be printed, and names the one that it failed to print" {
    exits 125 rowlock next unread >&- 2>said
    grep -q "standard output has no reader: nothing was done" said
    exits 125 rowlock next unread 1</dev/null 2>said
    [ "$(rowlock next unread)" = 1 ]
    exits 125 rowlock next unread >/dev/full 2>said
    grep -q "^rowlock: cannot write to standard output: No space left on device$" said
    grep -q "^rowlock: 2 of 'unread' is drawn, and was not printed: it is lost$" said
    exits 125 rowlock next --count 20000 unread >/dev/full 2>said
    grep -q "^rowlock: 3 to 20002 of 'unread' are drawn, and were not all printed$" said
    [ "$(rowlock next unread)" = 20003 ]
}

@test "next whose reader has ended fails with an error, not by a signal" {
    mkfifo pipe
    exec 9<>pipe
    exec 8>pipe 9>&- # a pipe without a reader
    exits 125 rowlock next readerless >&8 2>said
    exec 8>&-
    [ "$(rowlock next readerless)" = 1 ]
}

@test "the same number from SQL as from the command" {
    [ "$(rowlock next door)" = 1 ]
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        [ "$(sql "BEGIN; SELECT rowlock.next('door'); ROLLBACK")" = 2 ]
        [ "$(sql "SELECT rowlock.next('door')")" = 2 ]
        [ "$(sql "SELECT rowlock.next('door', 5)")" = 3 ]
        run ! sql "SELECT rowlock.next('door', 0)"
        [ "$(rowlock next door)" = 8 ]
        ;;
    mariadb)
        begin="SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION"
        [ "$(sql "$begin; CALL rowlock_next('door', @n); SELECT @n; ROLLBACK")" = 2 ]
        [ "$(sql "$begin; CALL rowlock_next('door', @n); SELECT @n; COMMIT")" = 2 ]
        [ "$(rowlock next door)" = 3 ]
        sql "CALL rowlock_prepare('counter:new')"
        [ "$(sql "$begin; CALL rowlock_next('new', @n); SELECT @n; COMMIT")" = 1 ]
        ;;
    esac
}
