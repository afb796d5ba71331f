#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# doctor: the checks of the schema, the account and its rows, and the self-test.
# Runs on: sqlite postgresql mariadb
# Quick: postgresql/native

load lib
load run.bash
load job.bash
load doctor.bash
# shellcheck source=tests/lib/server.sh
. "$BATS_TEST_DIRNAME/../lib/server.sh"

# The whole database as SQL, without the numbers of later tokens.
dump() {
    case $ROWLOCK_TEST_ENGINE in
    sqlite) sqlite3 "${ROWLOCK_TEST_URL#sqlite:}" .dump | grep -v 'INSERT INTO rowlock_number' ;;
    postgresql)
        # a grant may have moved a name
        sql "DELETE FROM rowlock.lease WHERE token < 0"
        "$(postgresql_program pg_dump)" "$ROWLOCK_TEST_ADMIN" |
            grep -v -e setval -e '^--' -e '^.restrict' -e '^.unrestrict'
        ;;
    mariadb)
        mariadb-dump --no-defaults --socket="$ROWLOCK_TEST_MARIADB_SOCKET/socket" -u root \
            --routines --skip-comments "${ROWLOCK_TEST_URL##*/}" |
            sed '/setval/Id; s/ AUTO_INCREMENT=[0-9]*//' # the numbers of tokens
        ;;
    esac
}

@test "the self-test hands over, fences an old token, and leaves nothing behind" {
    needs_pg_dump
    rowlock acquire --ttl 1h kept >/dev/null
    # shellcheck disable=SC2154
    job known "${rarely[@]}" -- true
    [ "$ROWLOCK_TEST_ENGINE" = sqlite ] || rowlock run --tx other -- true # a row of technique row
    dump >before
    finds ok self-test '*handed over to a second session in * ms; an old token was refused'
    run rowlock doctor
    [ "$status" -le 1 ]
    [[ $output != *FAIL* ]]
    dump >after
    diff before after
    [ -s before ]
    rowlock break --now kept
}

@test "the self-test fails if the lease of a second session cannot be written" {
    case $ROWLOCK_TEST_ENGINE in
    sqlite)
        sql "CREATE TRIGGER refuse BEFORE INSERT ON rowlock_waiter
             BEGIN SELECT RAISE(ABORT, 'no waiters'); END"
        ;;
    postgresql) sql 'ALTER TABLE rowlock.waiter ADD CONSTRAINT refuse CHECK (false)' ;;
    mariadb) sql 'ALTER TABLE rowlock_waiter ADD CONSTRAINT refuse CHECK (ticket = 0)' ;;
    esac
    run rowlock doctor --only self-test
    case $ROWLOCK_TEST_ENGINE in
    sqlite) sql 'DROP TRIGGER refuse' ;;
    postgresql) sql 'ALTER TABLE rowlock.waiter DROP CONSTRAINT refuse' ;;
    mariadb) sql 'ALTER TABLE rowlock_waiter DROP CONSTRAINT refuse' ;;
    esac
    [ "$status" = 2 ]
    [[ $output == FAIL*self-test*"a second session cannot wait: "* ]]
    [ "$(rowlock --json ls)" = "[]" ]
    finds ok self-test '*'
}

@test "one line a check, as in --list, in JSON the same fields; the worst decides the status" {
    run rowlock doctor
    worst=$status
    echo "$output"
    for check in url driver server schema leases transactions jobs clock self-test guard proc init \
        systemd; do
        [ "$(grep -cE "^(ok|warn|FAIL) +$check  " <<<"$output")" = 1 ]
    done
    [ "$(grep -cvE '^(ok|warn|FAIL) +[a-z-]+  .' <<<"$output")" = 0 ]
    awk '{ print $2 }' <<<"$output" | sort >reported
    rowlock doctor --list | awk '{ print $1 }' | sort >listed
    [ -z "$(comm -13 listed reported)" ]
    [ "$(rowlock --json doctor --list | json_sql 'json_array_length(document)')" = \
        "$(wc -l <listed)" ]
    expected=0
    if grep -q ^warn <<<"$output"; then expected=1; fi
    if grep -q ^FAIL <<<"$output"; then expected=2; fi
    [ "$worst" = "$expected" ]
    rowlock --json doctor --only schema >found
    [ "$(json_sql "json_array_length(document)" <found)" = 1 ]
    [ "$(json '$[0].check' <found)/$(json '$[0].status' <found)" = schema/ok ]
    [[ $(json '$[0].finding' <found) == "complete, version 1, technique $ROWLOCK_TEST_TECHNIQUE" ]]
    [ "$(json_sql "json_type(document, '\$[0].advice')" <found)" = null ]
    run -64 rowlock doctor --only nosuch
    [[ $output == *"there is no check 'nosuch'; see rowlock doctor --list"* ]]
    run -64 rowlock doctor extra
}

@test "schema: complete; a missing table; none installed" {
    finds ok schema '*complete, version 1, technique *'
    missing=subject
    put_away subject
    [ "$ROWLOCK_TEST_ENGINE" != postgresql ] || # a view that other checks read
        { missing="subject*holders" && sql "DROP VIEW rowlock.holders CASCADE"; }
    run rowlock doctor --only schema
    put_back subject
    [ "$ROWLOCK_TEST_ENGINE" != postgresql ] || rowlock schema install
    echo "$output"
    [ "$status" = 2 ]
    # shellcheck disable=SC2053
    [[ $output == FAIL*schema*missing*$missing*"-> rowlock schema install"* ]]
    finds ok schema '*'
}

@test "schema: a missing history is a warning where locks hold without it" {
    put_away history
    run rowlock doctor --only schema
    schema="$status $output"
    run rowlock doctor --only self-test
    put_back history
    echo "$schema"
    echo "$output"
    if [ "$ROWLOCK_TEST_ENGINE" = sqlite ]; then # its statements name the table
        [[ $schema == "2 FAIL"*schema*missing*"table rowlock_history  -> rowlock schema install"* ]]
    else
        [ "$status" = 0 ]
        expected="1 warn*schema*missing*table *history, which only the history needs  -> rowlock *"
        # shellcheck disable=SC2053
        [[ $schema == $expected ]]
    fi
    finds ok schema '*'
}

@test "leases: one that expired a minute ago and was not swept, until vacuum" {
    finds ok leases '*none has been expired for more than a minute'
    rowlock acquire --ttl 1h gone >/dev/null
    finds ok leases '*'
    case $ROWLOCK_TEST_ENGINE in
    sqlite) sql 'UPDATE rowlock_heartbeat SET expires = expires - 3720000' ;;
    postgresql) sql "UPDATE rowlock.lease SET expires = expires - interval '62 min'" ;;
    mariadb) sql 'UPDATE rowlock_name SET expires = expires - INTERVAL 62 MINUTE' ;;
    esac
    finds warn leases '*1 expired more than a minute ago and not swept, the first at 20*Z  -> *'
    [ "$(advice leases)" = 'rowlock vacuum' ]
    rowlock vacuum
    finds ok leases '*'
}

@test "jobs: late, failing and lost ones, all in one line" {
    sql "DELETE FROM ${ours}job"
    finds ok jobs '*fine: 0 jobs'
    job a "${rarely[@]}" -- true
    finds ok jobs '*fine: 1 job'
    rowlock hold --note pause job:a >token
    finds ok jobs '*fine: 1 job'
    rowlock release job:a --token "$(cat token)"
    sql "UPDATE ${ours}job SET due = 1000000000000"
    job f "${rarely[@]}" -- false || true
    finds warn jobs "*failing: 'f' since 20*; late: 'a' since 2001-*-> *rowlock jobs NAME*"
    sql "DELETE FROM ${ours}job"
    for number in {1..13}; do job "l$number" "${rarely[@]}" -- true; done
    job f "${rarely[@]}" -- false || true
    sql "UPDATE ${ours}job SET due = 1000000000000 WHERE name LIKE 'l%'"
    finds warn jobs "*failing: 'f' since 20*; late: 'l*; and 4 more  -> *"
    [ "$(grep -o "late: 'l" <<<"$output" | wc -l)" = 9 ]
    [ "$(advice jobs)" = "failing: read its output: rowlock jobs NAME; late: check that a node \
calls it, or remove it: rowlock jobs NAME --forget; see all: rowlock jobs --check" ]
    sql "DELETE FROM ${ours}job"
    start_node l --ttl 5s
    all_of_node KILL
    until_true is_free job:l
    finds warn jobs "*lost: 'l' since 20*"
    sql "DELETE FROM ${ours}job"
    rowlock vacuum
}

@test "clock: steady, and this node's own agrees, or not" {
    finds ok clock '*steady over 2 s*'
    library=$(find /usr/lib/*/faketime -name libfaketime.so.1 -print -quit)
    # shellcheck disable=SC2030,SC2031
    export LD_PRELOAD=$library DONT_FAKE_MONOTONIC=1
    # shellcheck disable=SC2030,SC2031
    export ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0:detect_leaks=0"
    case $ROWLOCK_TEST_ENGINE in
    sqlite) # its clock is this machine's
        FAKETIME='+0 x3' finds FAIL clock "*database's clock advanced by * ms in * ms*->*chrony*"
        ;;
    *)
        FAKETIME=+1h finds warn clock "*this node's clock is 3[56]* ms ahead of the database's*"
        FAKETIME=-1h finds warn clock "*this node's clock is 3[56]* ms behind the database's*"
        ;;
    esac
}
