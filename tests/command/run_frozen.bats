#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# run while the database does not answer: the test stops its own server, or a proxy that swallows
# everything. There is neither a closed connection nor an error.
# Runs on: postgresql/native mariadb/row
# Quick: mariadb/row

load lib
load run.bash
load proxy.bash
load own_server.bash

setup_file() {
    use_own
    rowlock schema install
    export OWN_PID=$server_pid
}
teardown_file() {
    each_of_server CONT
    stop_server "$own"
}

each_of_server() { # SIGNAL: to the server and its processes
    # shellcheck disable=SC2046
    kill -s "$1" "$OWN_PID" $(pgrep -P "$OWN_PID") || true
}

@test "p5: the server hangs: the command is killed, and rowlock ends while the server still hangs" {
    start_tree --ttl 4s a
    start_next a command grandchild daemon
    each_of_server STOP
    ends_soon 123 "$holder" "$ROWLOCK_TEST_URL"
    grep -q "^rowlock: the lock on 'a' is lost" err
    each_of_server CONT
    next_has_passed
}

@test "broken, and the server hangs during the release: rowlock does not wait for it" {
    on_term='trap "touch told; until [ -e hangs ]; do sleep 0.02; done; exit" TERM'
    rm -f told hangs
    start_tree --ttl 60s d # its statements may take 10 s
    rowlock break d
    until_true is_there told
    each_of_server STOP
    touch hangs
    ends_soon 123 "$holder" "$ROWLOCK_TEST_URL"
    each_of_server CONT
}

@test "p5: the network swallows everything: the command is dead before the next has the lock" {
    start_proxy
    ROWLOCK_TEST_URL=$proxy_url start_tree --ttl 4s a
    start_next a command grandchild daemon
    kill -s STOP "$proxy_pid"
    next_has_passed
    ends_soon 123 "$holder" "$proxy_url"
}

# The reply is the last one, and comes later than the margin before the end of the lease (3 s), but
# before rowlock gives the statement up (5 s). On MariaDB the first renewal takes two messages.
@test "p5: the end counts from before the renewal was sent, not from its reply" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    start_proxy
    ROWLOCK_TEST_URL=$proxy_url start_tree --ttl 30s a
    start_next a command grandchild daemon
    was=$(item a '$[0].expires')
    touch hold
    until_true expires_later_than "$was"
    sleep 3.5
    rm -f passed hold
    until_true is_there passed
    kill -s STOP "$proxy_pid"
    next_has_passed
    ends_soon 123 "$holder" "$proxy_url"
}

@test "the network is away briefly: the lease is renewed, and the command is not affected" {
    start_proxy
    ROWLOCK_TEST_URL=$proxy_url start_stoppable --ttl 10s a
    kill -s STOP "$proxy_pid"
    until_true has_unread "$(cat port)" # a request of rowlock's
    kill -s CONT "$proxy_pid"
    was=$(item a '$[0].expires')
    until_true expires_later_than "$was"
    touch stop
    ends_with 4 "$holder"
    is_free a
}

@test "the command ends while the server hangs: its own status, and a signal ends rowlock's wait" {
    start_stoppable --ttl 30s c
    command=$(cat command)
    each_of_server STOP
    touch stop
    until_true is_gone "$command"
    until_true is_releasing
    end_by_term "$holder"
    each_of_server CONT
}
# the guard has ended: the next signal is for rowlock
is_releasing() { [ -z "$(pgrep -P "$holder")" ]; }
