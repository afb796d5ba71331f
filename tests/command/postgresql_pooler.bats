#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The command through a pooler that assigns a backend to each transaction only.
# Runs on: postgresql/native

load ../sql/lib
load run.bash
# shellcheck source=tests/lib/server.sh
. "$BATS_TEST_DIRNAME/../lib/server.sh"

pooler=command_pooler
setup_file() {
    install_technique
    start_pooler $pooler "$ROWLOCK_TEST_URL"
    export POOLED=$server_url
}
teardown_file() { stop_pooler $pooler; }
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    direct=$ROWLOCK_TEST_URL ROWLOCK_TEST_URL=$POOLED
}
directly() { ROWLOCK_TEST_URL=$direct "$@"; }

@test "p1: run holds the name while its command runs, also against direct connections" {
    start_stoppable --note pooled a
    for way in "" directly; do
        run -75 $way leased -n a -- touch ran
        [[ $output == *"pid $holder"*"pooled"* ]]
    done
    run -75 directly rowlock run -n --tx a -- touch ran
    touch stop
    ends_with 4 "$holder"
    directly is_free a
    [ ! -e ran ]
}

@test "acquire --while-pid keeps and releases; check, renew and release take its token" {
    start sleep 300
    token=$(rowlock acquire --while-pid "$started" --ttl 15s a)
    was=$(item a '$[0].expires')
    until_true expires_later_than "$was"
    rowlock check a --token "$token"
    rowlock renew a --token "$token" --ttl 1m
    kill "$started"
    until_true is_free a
    run -1 rowlock check a --token "$token"
    run -123 rowlock release a --token "$token"
}

@test "run --tx and vacuum" {
    hold b
    run -75 rowlock run --tx -n b -- true
    run -75 directly rowlock run -n b -- true
    let_go
    rowlock run --tx -n b -- true
    rowlock vacuum
}

# The COMMIT ends the locks of a transaction, not the disconnect of its client. So a lock does not
# depend on the backend that the next transaction gets.
backends_that_hold() {
    sql "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND database =
         (SELECT oid FROM pg_database WHERE datname = current_database())
         AND (classid::bigint << 32 | objid::bigint) = rowlock.key('$1')"
}
@test "p1: psql locks by rowlock.exclusive and .shared until COMMIT, also past the pooler" {
    open_session a "$POOLED"
    open_session b "$POOLED"
    in_session a BEGIN "SELECT rowlock.exclusive('c')"
    for way in "$POOLED" "$direct"; do
        [ "$(psql -qXAt "$way" -c "SELECT rowlock.try_exclusive('c')")" = f ]
        [ "$(psql -qXAt "$way" -c "SELECT rowlock.try_shared('c')")" = f ]
    done
    run -75 rowlock run -n c -- true
    ask b BEGIN "SELECT rowlock.shared('c')" "SELECT 'locked'"
    until_true somebody_waits
    run ! said b locked
    in_session a COMMIT
    answer b locked
    # the backend has released it, though its client is connected, and serves others meanwhile
    [ "$(backends_that_hold c)" = 1 ]
    [ "$(psql -qXAt "$POOLED" -c "SELECT rowlock.try_shared('c')")" = t ]
    in_session b COMMIT
    [ "$(backends_that_hold c)" = 0 ]
    close_sessions
}
@test "p1: a lock by psql outside BEGIN stays with no backend" {
    for _ in 1 2 3 4; do psql -qXAt "$POOLED" -c "SELECT rowlock.exclusive('d')"; done
    [ "$(backends_that_hold d)" = 0 ]
    [ "$(psql -qXAt "$direct" -c "SELECT rowlock.try_exclusive('d')")" = t ]
}
