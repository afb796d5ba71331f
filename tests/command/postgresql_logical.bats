#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Logical replication carries the leases to another server, which then takes over: each statement
# is that of docs/failover.md. Both servers are databases of one here.
# Runs on: postgresql/native

load lib
load own_server.bash

setup_file() {
    use_own -c wal_level=logical
    rowlock schema install
}
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    old=$ROWLOCK_TEST_URL new=${ROWLOCK_TEST_URL%/*}/test_new
    old_admin=$ROWLOCK_TEST_ADMIN new_admin=${ROWLOCK_TEST_ADMIN%/*}/test_new
    at "$old_admin" 'CREATE DATABASE test_new OWNER tester'
    on_new schema install
    on_new run first -- true # it draws a number
}
teardown() {
    at "$new_admin" 'DROP SUBSCRIPTION IF EXISTS rowlock'
    at "$old_admin" 'DROP PUBLICATION IF EXISTS rowlock'
    at "$old_admin" 'DROP DATABASE test_new WITH (FORCE)'
}
at() { psql -qXAt -v ON_ERROR_STOP=1 "$1" -c "$2"; } # URL STATEMENT
on_new() { "$ROWLOCK" --db "$new" "$@"; }
page() { # PATTERN: the statement of the page that begins with it
    awk -v begin="^    $1" '$0 ~ begin { inside = 1 } inside { print } inside && /;/ { exit }' \
        "$BATS_TEST_DIRNAME/../../docs/failover.md"
}
replicate() {
    at "$old_admin" "$(page 'CREATE PUBLICATION')"
    # with a slot that exists before, because both are databases of one server here
    at "$old_admin" "SELECT pg_create_logical_replication_slot('rowlock', 'pgoutput')" >/dev/null
    at "$new_admin" "CREATE SUBSCRIPTION rowlock CONNECTION '$old_admin' PUBLICATION rowlock
                         WITH (create_slot = false, slot_name = 'rowlock')"
}
# The old server draws greater numbers than the new one, as one that was restarted later does.
lead() { at "$old_admin" "SELECT setval('rowlock.number', last_value + (1::bigint << 40))
                            FROM rowlock.number" >/dev/null; }
arrived() { on_new ls x | grep -q "$1"; }

@test "p3_a lease moves to the new server with its holder; tokens rise, although it drew before" {
    replicate
    lead
    token=$(rowlock acquire --ttl 1h x)
    until_true arrived "$token"
    run -75 on_new run -n x -- true
    run -75 on_new run --tx -n x -- true
    on_new renew x --token "$token"
    next=$(on_new acquire --ttl 1h y)
    [ "$next" -gt "$token" ]
    on_new release x --token "$token"
    next=$(on_new acquire --ttl 1h x)
    [ "$next" -gt "$token" ]
}

# A token that was released before the replication began: no row tells the new server of it.
@test "p3_the statement of the page makes tokens rise above those that no row shows" {
    lead
    token=$(rowlock acquire --ttl 1h w)
    rowlock release w --token "$token"
    [ "$(on_new acquire --ttl 1h before)" -lt "$token" ]
    last=$(at "$old_admin" "$(page 'SELECT greatest')")
    statement=$(page 'SELECT setval')
    at "$new_admin" "${statement//NUMBER/$last}"
    next=$(on_new acquire --ttl 1h w)
    [ "$next" -gt "$token" ]
    at "$new_admin" "${statement//NUMBER/1}" # again, with less: nothing falls
    next=$(on_new acquire --ttl 1h z)
    [ "$next" -gt "$token" ]
    # A second move, from the new server: its sequence number is still behind the lifted one.
    last=$(at "$new_admin" "$(page 'SELECT greatest')")
    [ "$last" -ge "$token" ]
}
