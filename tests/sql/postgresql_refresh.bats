#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# rowlock.refresh and rowlock.refreshed: stale data is refreshed once, in the caller's transaction.
# They call rowlock.exclusive, and what conformance/refresh calls on every technique.
# Runs on: postgresql
# Quick: first
# Rest: postgresql/native postgresql/row

load lib

setup_file() { install_technique; }
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    NAME="rates $BATS_TEST_NUMBER"
    db "SELECT rowlock.prepare('subject:$NAME')"
}
teardown() {
    close_sessions
    end_sessions
}

refresh() { echo "SELECT 'version ' || coalesce(rowlock.refresh('$NAME', $1)::text, 'none')"; }
refreshed() { echo "SELECT rowlock.refreshed('$NAME', $1)"; }
status() { db "SELECT status || ' ' || made FROM rowlock.subjects WHERE name = '$NAME'"; }
refresh_once() { db BEGIN "SELECT rowlock.refreshed('$NAME', rowlock.refresh('$NAME'))" COMMIT; }

@test "stale data is refreshed, and then fresh until its age, an expiry, or a clock set back" {
    [ "$(db BEGIN "$(refresh "'1 h'")" "$(refreshed 1)" COMMIT)" = "version 1" ]
    [ "$(status)" = "COMPLETE true" ]
    [ "$(db BEGIN "$(refresh "'1 h'")" COMMIT)" = "version none" ]
    [ "$(db BEGIN "$(refresh "'infinity'")" COMMIT)" = "version none" ] || # before PostgreSQL 17
        [ "$(db BEGIN "$(refresh "'200000 years'")" COMMIT)" = "version none" ]
    for age in "'0'" "'-1 s'"; do
        [ "$(db BEGIN "$(refresh "$age")" ROLLBACK)" = "version 2" ]
    done
    rowlock expire "$NAME"
    [ "$(db BEGIN "$(refresh NULL)" "$(refreshed 2)" COMMIT)" = "version 2" ]
    db "UPDATE rowlock.subject SET updated = updated + 7200000 WHERE name = '$NAME'"
    [ "$(db BEGIN "$(refresh "'1 h'")" ROLLBACK)" = "version 3" ]
    [ "$(db BEGIN "$(refresh NULL)" COMMIT)" = "version none" ]
}

@test "a caller that finds fresh data waits for no lock" {
    refresh_once
    open_session a
    in_session a BEGIN "SELECT rowlock.exclusive('subject:$NAME')"
    [ "$(db "SET statement_timeout = '20 s'" BEGIN "$(refresh "'1 h'")" COMMIT)" = "version none" ]
}

@test "of two callers at once one refreshes; the other waits, and finds the data fresh" {
    open_session a
    open_session b
    ask a BEGIN "$(refresh "'1 h'")"
    answer a 'version 1'
    ask b BEGIN "$(refresh "'1 h'")"
    until_true somebody_waits
    ask a "$(refreshed 1)" COMMIT
    answer b 'version none'
}

@test "busy: 0 within wait, and the transaction continues; an error without one" {
    open_session a
    ask a BEGIN "$(refresh NULL)"
    answer a 'version 1'
    for wait in 0 0.3; do
        [ "$(db BEGIN "$(refresh "NULL, '$wait s'")" "SELECT 'continues'" COMMIT)" = \
            $'version 0\ncontinues' ]
    done
    fails_with 55P03 BEGIN "SET LOCAL lock_timeout = '1 s'" "$(refresh NULL)"
    fails_with RL005 BEGIN "$(refresh "NULL, '0'")" "$(refreshed 0)"
}

@test "only the transaction that began a refresh completes it, and once" {
    fails_with RL005 BEGIN "$(refresh NULL)" COMMIT BEGIN "$(refreshed 1)"
    [[ $output == *'this transaction does not refresh "'"$NAME"'"'* ]]
    [ "$(status)" = "ERROR false" ] # committed without refreshed
    refresh=$(refresh NULL) refreshed=$(refreshed 3)
    # in the first line each in a transaction of its own
    each_fails <<TEXT
RL005 | $refresh; $(refreshed 2)
RL005 | BEGIN; $refresh; ROLLBACK; BEGIN; $refreshed
RL005 | BEGIN; SAVEPOINT s; $refresh; ROLLBACK TO s; $refreshed
RL005 | BEGIN; $refresh; $refreshed; $refreshed
RL005 | BEGIN; SELECT rowlock.refreshed('$NAME', NULL)
RL005 | BEGIN; SELECT rowlock.refreshed(NULL, 3)
TEXT
    [ "$(db BEGIN "SAVEPOINT s" "$refresh" "RELEASE s" "$refreshed" COMMIT)" = "version 3" ]
}

@test "who refreshes is shown: the names that are given, or what the server knows" {
    db BEGIN "$(refresh "NULL, host => 'web3', pid => 7, program => 'loader'")" "$(refreshed 1)" \
        COMMIT
    shown="SELECT concat_ws('/', host, pid, program) FROM rowlock.subjects WHERE name = '$NAME'"
    [ "$(db "$shown")" = web3/7/loader ]
    db "SET application_name = 'by hand'" BEGIN "$(refresh "'0'")" "$(refreshed 2)" COMMIT
    [[ $(db "$shown") == *'/by hand' ]]
    fails_with 22001 BEGIN "$(refresh "NULL, program => repeat('x', 256)")"
}

@test "names and levels are refused as by rowlock.exclusive, also if the data is fresh" {
    refresh_once
    {
        for name in "NULL" "''" "repeat('x', 248)"; do
            echo "RL003 | BEGIN; SELECT rowlock.refresh($name)"
        done
        echo "RL001 | BEGIN ISOLATION LEVEL REPEATABLE READ; $(refresh "'1 h'")"
        [ "$ROWLOCK_TEST_TECHNIQUE" != row ] ||
            echo "RL008 | BEGIN; SELECT rowlock.refresh('new')"
    } >refused
    each_fails <refused
}
