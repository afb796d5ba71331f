#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# run when an operator cancels the statement in which it waits: KILL QUERY ends a wait on MariaDB.
# Runs on: mariadb/row
# Quick: never

load lib

waiter_is_cancelled() { # a cancel between two statements has no effect
    local id
    for id in $(sql "SELECT id FROM $processlist
        WHERE db = database() AND user = 'rowlock' AND command <> 'Sleep'"); do
        sql "KILL QUERY $id" 2>&1 || true # it has ended
    done
    is_gone "$waiter"
}

@test "the error of a cancelled wait names the lock, and that the server ended the wait" {
    local waiter status=0
    rowlock run a -- sh -c 'touch held; exec sleep 900' 3>&- &
    all_started+=("$!")
    until_true is_there held
    rowlock run --wait 60 a -- touch ran 2>err 3>&- &
    waiter=$!
    all_started+=("$waiter")
    until_true is_waited_for a
    until_true waiter_is_cancelled
    wait "$waiter" || status=$?
    [ "$status" = 125 ]
    [ "$(cat err)" = "rowlock: the server cancelled the statement while waiting for 'a';$(
        ) acquire it again to wait further" ]
    [ ! -e ran ]
    nobody_waits_for a
}
