#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The rows of the extension that pg_dump carries: counters, jobs, subjects, leases and the token
# numbers, as in a dump of an installed schema. Tokens never go back.
# Quick: never

load ../command/lib
load extension

fill() { # adds rows to every table but that of waiters, which exist only while callers wait
    rowlock next --start 2024001 invoice
    rowlock job mail --every 50w -- echo sent
    rowlock refresh rates --max-age 1d -- true
    rowlock expire rates
    token=$(rowlock acquire --ttl 1h --note 'new disks' x)
    rowlock renew x --token "$token"
}
# every row of every table, except the two that installing writes itself
contents() {
    local table
    for table in $(sql "SELECT relname FROM pg_class WHERE relnamespace = 'rowlock'::regnamespace
                        AND relkind = 'r' AND relname NOT IN ('meta', 'origin')
                        ORDER BY 1"); do
        echo "-- $table"
        sql "SELECT t FROM rowlock.$table t ORDER BY t::text"
    done
}
draw() { sql 'SELECT rowlock.next_number()'; }

# p3 token by token: each is greater than the given one, and than the one before
rise_above() {
    local number last=$1
    for _ in 1 2 3; do
        number=$(draw)
        echo "$last < $number"
        [ "$number" -gt "$last" ]
        last=$number
    done
}

@test "a dump restored elsewhere has every row; counters continue, leases stay, tokens rise" {
    as_tester 'CREATE EXTENSION rowlock'
    fill
    start_waiter x
    # further than any clock would lift them: only the dump can contain this
    sql "SELECT setval('rowlock.number', 4000000000000000000)" >/dev/null
    far=$(draw)
    [ "$far" -gt 4000000000000000000 ]
    contents >before
    for table in lease waiter counter job run subject expiry; do
        [ "$(sql "SELECT count(*) > 0 FROM rowlock.$table")" = t ]
    done
    # a dump also carries a table that no test fills
    [ "$(sql "SELECT count(*) FROM pg_class c WHERE relnamespace = 'rowlock'::regnamespace
              AND relkind IN ('r', 'S')
              AND relname NOT IN ('meta', 'origin')
              AND NOT EXISTS (SELECT FROM pg_extension e WHERE extname = 'rowlock'
              AND c.oid = ANY (e.extconfig))")" = 0 ]
    pg pg_dump -Fc -f dump "$ROWLOCK_TEST_URL"
    fresh_database "e${BATS_TEST_NUMBER}_b"
    pg pg_restore --exit-on-error -d "$ROWLOCK_TEST_URL" dump
    contents >after
    diff before after
    [ "$(sql "SELECT extversion FROM pg_extension WHERE extname = 'rowlock'")" = 1 ]
    rise_above "$far"
    [ "$(rowlock next invoice)" = 2024002 ]
    run rowlock job mail --every 50w -- echo again
    [ "$status/$output" = 0/ ] # it is not due
    run -75 rowlock run -n x -- true
    [[ $output == *"new disks"* ]]
    as_tester "SELECT rowlock.fence('x', $token)"
    rowlock release x --token "$token"
    rowlock run -w 20 x -- true # the old server's waiters do not exist here
}

@test "p3 an older dump restored into the same database: tokens still rise" {
    as_tester 'CREATE EXTENSION rowlock'
    fill
    pg pg_dump "$ROWLOCK_TEST_URL" >dump.sql
    for _ in 1 2 3 4 5; do last=$(draw); done
    as_tester 'DROP EXTENSION rowlock'
    psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_URL" -f dump.sql >/dev/null
    rise_above "$last"
    pg pg_dump -Fc -f dump "$ROWLOCK_TEST_URL"
    for _ in 1 2 3 4 5; do last=$(draw); done
    pg pg_restore --clean --exit-on-error -d "$ROWLOCK_TEST_URL" dump
    rise_above "$last"
}

@test "p3 numbers drawn between two statements of a restore, which then sets them back" {
    as_tester 'CREATE EXTENSION rowlock'
    fill
    pg pg_dump -Fc -f dump "$ROWLOCK_TEST_URL"
    fresh_database "e${BATS_TEST_NUMBER}_b"
    pg pg_restore --exit-on-error --section=pre-data -d "$ROWLOCK_TEST_URL" dump
    last=$(draw)
    pg pg_restore --exit-on-error --section=data --section=post-data -d "$ROWLOCK_TEST_URL" dump
    rise_above "$last"
}

@test "grants are carried: a role with the least privileges continues" {
    as_tester 'CREATE EXTENSION rowlock'
    sql 'CREATE ROLE carried LOGIN'
    rowlock schema print --grants --role carried | psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_URL"
    pg pg_dump "$ROWLOCK_TEST_URL" >dump.sql
    fresh_database "e${BATS_TEST_NUMBER}_b"
    psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_URL" -f dump.sql >/dev/null
    export ROWLOCK_TEST_URL=${ROWLOCK_TEST_URL/tester@/carried@}
    run rowlock run -w 20 x -- echo ran
    [ "$status/$output" = 0/ran ]
    [ "$(rowlock next invoice)" = 1 ]
    rowlock vacuum
    # and no other role can
    [ "$(sql "SELECT count(*) FROM pg_proc WHERE pronamespace = 'rowlock'::regnamespace
              AND has_function_privilege('public', oid, 'EXECUTE')")" = 0 ]
    fresh_database "e${BATS_TEST_NUMBER}" && sql 'SELECT 1' >/dev/null
    fresh_database "e${BATS_TEST_NUMBER}_b" && sql 'DROP ROLE carried'
}

@test "it belongs to the role that restores it, which --role chooses" {
    as_tester 'CREATE EXTENSION rowlock'
    pg pg_dump -Fc -f dump "$ROWLOCK_TEST_URL"
    fresh_database "e${BATS_TEST_NUMBER}_b"
    pg pg_restore --exit-on-error --role tester -d "$ROWLOCK_TEST_ADMIN" dump
    [ "$(sql "SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class
              WHERE relnamespace = 'rowlock'::regnamespace")" = tester ]
    rowlock run -w 20 x -- true
    as_tester 'DROP EXTENSION rowlock'
}

@test "a dump of selected schemas carries it if -e asks for it" {
    as_tester 'CREATE EXTENSION rowlock'
    rowlock next invoice
    as_tester 'CREATE SCHEMA app' && as_tester 'CREATE TABLE app.bond (id integer)'
    pg pg_dump -Fc -n app -e rowlock -f dump "$ROWLOCK_TEST_URL"
    fresh_database "e${BATS_TEST_NUMBER}_b"
    pg pg_restore --exit-on-error -d "$ROWLOCK_TEST_URL" dump
    [ "$(rowlock next invoice)" = 2 ]
}

becomes_an_extension() { # as in docs/extension.md
    fill
    last=$(draw)
    contents >before
    pg pg_dump -Fc --data-only -n rowlock -T rowlock.meta -T rowlock.origin -f rowlock.dump \
        "$ROWLOCK_TEST_URL"
    rowlock schema uninstall --force
    as_tester 'CREATE EXTENSION rowlock'
    pg pg_restore --data-only --exit-on-error -d "$ROWLOCK_TEST_URL" rowlock.dump
    contents >after
    diff before after
    rise_above "$last"
    [ "$(rowlock next invoice)" = 2024002 ]
    as_tester "SELECT rowlock.fence('x', $token)"
}

@test "an installed schema becomes an extension, and the reverse; the rows stay" {
    rowlock schema install
    becomes_an_extension
    # and in the other direction
    last=$(draw)
    contents >before
    pg pg_dump -Fc --data-only -n rowlock -e rowlock -f rowlock.dump "$ROWLOCK_TEST_URL"
    as_tester 'DROP EXTENSION rowlock'
    rowlock schema install
    pg pg_restore --data-only --exit-on-error -d "$ROWLOCK_TEST_URL" rowlock.dump
    contents >after
    diff before after
    rise_above "$last"
    as_tester "SELECT rowlock.fence('x', $token)"
}
