#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# run --tx while the server hangs. Only PostgreSQL has a process per session, which the test can
# stop. And the server's log: to free a session lock that the session lacks leaves a warning there.
# Runs on: postgresql/native

load lib

has_no_child() { [ -z "$(pgrep -P "$1")" ]; } # the second TERM is for rowlock itself

@test "a database that hangs delays no signal to the command, and rowlock can be ended" {
    start_rowlock run --tx a -- perl -e "$listener"
    pid=$started
    until_true has_seen ready
    backend=$(sql "SELECT pid FROM pg_stat_activity
                   WHERE datname = current_database() AND state LIKE 'idle in%'")
    kill -s STOP "$backend"
    until_true has_unread "$ROWLOCK_TEST_POSTGRESQL_PORT"
    kill -s USR1 "$pid"
    until_true has_seen USR1
    kill -s TERM "$pid"
    until_true has_seen TERM
    touch stop
    until_true has_no_child "$pid"
    kill -s TERM "$pid"
    ends_with 143 "$pid" || status=$?
    kill -s CONT "$backend"
    [ "${status:-0}" = 0 ]
}

@test "no call leaves a warning in the server's log" {
    rowlock run a -- true
    rowlock refresh a --max-age 0s -- true
    rowlock job a --every 50w -- true
    ! grep "${ROWLOCK_TEST_URL##*/} WARNING" "$ROWLOCK_TEST_POSTGRESQL_SOCKET/log" || false
}
