#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# doctor: the checks that PostgreSQL alone has: its dead rows, and a pooler.
# Runs on: postgresql/native

load lib
load doctor.bash
# shellcheck source=tests/lib/server.sh
. "$BATS_TEST_DIRNAME/../lib/server.sh"

@test "pooler: none, in transaction mode, in session mode; the self-test passes behind it" {
    finds ok pooler "*none: the session is the server's own"
    start_pooler doctor_pooler "$ROWLOCK_TEST_URL"
    url=$server_url
    finds warn pooler '*a pooler in transaction mode: waiters poll*-> *a URL of the server itself' \
        --db "$url"
    finds ok self-test '*' --db "$url"
    sed -i 's/pool_mode = transaction/pool_mode = session/' "$ROWLOCK_TEST_FOLDER/doctor_pooler/ini"
    kill -s HUP "$(cat "$ROWLOCK_TEST_FOLDER/doctor_pooler/pid")"
    until_true finds warn pooler '*a pooler, in session mode as far as two sessions show*' \
        --db "$url"
    stop_pooler doctor_pooler
}

@test "autovacuum: off for one table" {
    finds ok autovacuum '*on'
    sql 'ALTER TABLE rowlock.waiter SET (autovacuum_enabled = off)'
    finds warn autovacuum '*it is off for rowlock.waiter*'
    sql "$(advice autovacuum)"
    finds ok autovacuum '*on'
}

@test "owner: a superuser over a schema of another role" {
    finds ok owner '*the schema rowlock belongs to tester'
    finds warn owner '*belongs to tester: the functions of that role*-> use the URL of tester' \
        --db "$ROWLOCK_TEST_ADMIN"
    for verb in ls 'schema install'; do
        # shellcheck disable=SC2086 # words
        run -0 --separate-stderr "$ROWLOCK" --db "$ROWLOCK_TEST_ADMIN" $verb
        [[ $stderr == *'belongs to tester: the functions of that role'*'use the URL of tester'* ]]
        # shellcheck disable=SC2086
        run -0 --separate-stderr rowlock $verb
        [[ $stderr != *'belongs to'* ]]
    done
}

@test "dead-rows: many in one table, until VACUUM" {
    sql 'ALTER TABLE rowlock.subject SET (autovacuum_enabled = off)'
    finds ok dead-rows '* in all tables of rowlock'
    sql "INSERT INTO rowlock.subject (name) SELECT 'x' || n FROM generate_series(1, 12000) n;
         DELETE FROM rowlock.subject"
    until_true has_dead_rows
    finds warn dead-rows '*rowlock.subject has 12??? dead rows  -> VACUUM rowlock.subject;*'
    sql 'VACUUM rowlock.subject'
    until_true has_no_dead_rows
    finds ok dead-rows '*'
    sql 'ALTER TABLE rowlock.subject RESET (autovacuum_enabled)'
}
has_dead_rows() { rowlock doctor --only dead-rows | grep -q ^warn; }
has_no_dead_rows() { rowlock doctor --only dead-rows | grep -q ^ok; }

fails_self_test() { # PATTERN
    run -2 rowlock doctor --only self-test
    # shellcheck disable=SC2053
    [[ $output == FAIL*self-test*$1* ]]
    [ "$(rowlock --json ls)" = "[]" ]
}

@test "self-test: a fence that accepts an old token" {
    sql "SELECT pg_get_functiondef('rowlock.fence(text,bigint,bigint)'::regprocedure)" >fence
    sed 's/ELSE 8 END/ELSE 0 END/' fence >broken
    [ "$(diff fence broken | grep -c '^>')" = 1 ]
    sql "$(cat broken)"
    fails_self_test 'the fence does not refuse an old token'
    sql "$(cat fence)"
    finds ok self-test '*'
}

@test "self-test: a slow hand-over" {
    sql "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
             \$\$ BEGIN PERFORM pg_sleep(6); RETURN NEW; END \$\$;
         CREATE TRIGGER slow BEFORE UPDATE ON rowlock.lease FOR EACH ROW WHEN (NEW.token = 0)
             EXECUTE FUNCTION slow()"
    finds warn self-test '*the hand-over to a second session took * ms  -> *look at the load*'
    sql 'DROP TRIGGER slow ON rowlock.lease; DROP FUNCTION slow'
}
