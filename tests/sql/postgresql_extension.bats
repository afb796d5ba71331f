#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# CREATE EXTENSION rowlock, on a server of its own: it creates the same objects as `schema install`,
# owned by its creator. Also: the command's reports about the extension, and its complete removal.
# Quick: never

load ../command/lib
load extension

# Everything in the schema rowlock, as text: functions with their bodies, columns, constraints,
# indexes, rights, comments.
objects() {
    sql "SELECT 'function', p.oid::regprocedure, pg_get_function_result(p.oid),
         md5(pg_get_functiondef(p.oid)),
                p.proacl, pg_get_userbyid(p.proowner), obj_description(p.oid, 'pg_proc')
           FROM pg_proc p WHERE p.pronamespace = 'rowlock'::regnamespace ORDER BY 2::text;
         SELECT 'relation', c.relname, c.relkind, c.reloptions, c.relacl,
         pg_get_userbyid(c.relowner),
                CASE WHEN c.relkind = 'v' THEN pg_get_viewdef(c.oid) END
           FROM pg_class c WHERE c.relnamespace = 'rowlock'::regnamespace ORDER BY 2;
         SELECT 'column', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
         a.attcollation,
                pg_get_expr(d.adbin, d.adrelid)
           FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
           LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
          WHERE c.relnamespace = 'rowlock'::regnamespace AND a.attnum > 0 ORDER BY 2, 3;
         SELECT 'constraint', conname, pg_get_constraintdef(oid) FROM pg_constraint
          WHERE connamespace = 'rowlock'::regnamespace ORDER BY 2;
         SELECT 'index', indexdef FROM pg_indexes WHERE schemaname = 'rowlock' ORDER BY 2;
         SELECT 'meta', m FROM rowlock.meta m;"
}

@test "the extension creates the same objects as schema install" {
    rowlock schema install
    objects >installed
    fresh_database "e${BATS_TEST_NUMBER}_b"
    as_tester 'CREATE EXTENSION rowlock'
    objects >created
    diff installed created
    [ "$(grep -c ^function created)" -gt 50 ]
    # and all of it belongs to the extension
    [ "$(sql "SELECT count(*) FROM pg_proc p WHERE p.pronamespace = 'rowlock'::regnamespace
              AND NOT EXISTS
              (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')")" = 0 ]
}

@test "a role that may create schemas creates it and owns it; another may not" {
    sql 'DROP ROLE IF EXISTS nobody_much' && sql 'CREATE ROLE nobody_much LOGIN'
    run psql -qX "${ROWLOCK_TEST_URL/tester@/nobody_much@}" -c 'CREATE EXTENSION rowlock'
    [[ $output == *"permission denied"* ]]
    sql 'DROP ROLE nobody_much'
    as_tester 'CREATE EXTENSION rowlock'
    [ "$(sql "SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class
              WHERE relnamespace = 'rowlock'::regnamespace")" = tester ]
    [ "$(sql "SELECT DISTINCT pg_get_userbyid(proowner) FROM pg_proc
              WHERE pronamespace = 'rowlock'::regnamespace")" = tester ]
    [ "$(sql "SELECT pg_get_userbyid(nspowner) FROM pg_namespace
              WHERE nspname = 'rowlock'")" = tester ]
    run ! as_tester 'CREATE EXTENSION rowlock SCHEMA public'
}

@test "schema install, upgrade and uninstall recognize the extension, and change nothing" {
    as_tester 'CREATE EXTENSION rowlock'
    objects >before
    run -0 --separate-stderr rowlock schema install
    place=postgresql://${ROWLOCK_TEST_URL#*@}
    [ "$output" \
        = "rowlock is installed already in $place, technique native, as an extension (version 1)" ]
    run -0 --separate-stderr rowlock --json schema install
    [ "$(json '$.schema' <<<"$output")" = present ]
    [ "$(json '$.technique' <<<"$output")/$(json '$.extension' <<<"$output")" = native/1 ]
    run -64 rowlock schema install --technique insert
    [[ $output == *"technique native"*"run: DROP EXTENSION rowlock" ]]
    run -0 rowlock schema upgrade
    [[ $output == *"is current"*"ALTER EXTENSION rowlock UPDATE"* ]]
    run -64 rowlock schema uninstall
    [[ $output == *"DROP EXTENSION rowlock" ]]
    objects >after
    diff before after
    as_tester 'UPDATE rowlock.meta SET version = -1' # as in an older version
    for verb in 'schema upgrade' 'run -n x -- true'; do
        # shellcheck disable=SC2086
        run -69 rowlock $verb
        [[ $output == *"run: ALTER EXTENSION rowlock UPDATE"* ]]
    done
}

@test "ALTER EXTENSION rowlock UPDATE to the next version: the same objects, and the rows stay" {
    as_tester 'CREATE EXTENSION rowlock'
    rowlock next --start 7 kept
    token=$(rowlock acquire --ttl 1d held)
    local now=$ROWLOCK
    ROWLOCK=${ROWLOCK%/*}/next/rowlock
    make_extension install-extension DESTDIR="$stage" SCHEMA_VERSION=2
    run -69 rowlock schema upgrade
    [[ $output == *"version 1"*"run: ALTER EXTENSION rowlock UPDATE"* ]]
    run -0 rowlock schema install
    [[ $output == *"version 1"*"to upgrade, run: ALTER EXTENSION rowlock UPDATE"* ]]
    rowlock renew held --token "$token"
    rowlock job mail --every 50w -- true
    as_tester 'ALTER EXTENSION rowlock UPDATE'
    "$now" --db "$ROWLOCK_TEST_URL" renew held --token "$token"
    "$now" --db "$ROWLOCK_TEST_URL" run -n free -- true
    "$now" --db "$ROWLOCK_TEST_URL" jobs mail
    "$now" --db "$ROWLOCK_TEST_URL" next other
    objects | sort >updated
    [ "$(rowlock next kept)" = 8 ]
    [ "$(sql "SELECT began FROM rowlock.counter WHERE name = 'kept'")" = 7 ]
    rowlock check held --token "$token"
    [ "$(sql "SELECT count(*) FROM pg_class c WHERE c.relnamespace = 'rowlock'::regnamespace
              AND c.relkind IN ('r', 'v', 'S') AND NOT EXISTS
              (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')")" = 0 ]
    fresh_database "e${BATS_TEST_NUMBER}_b"
    as_tester 'CREATE EXTENSION rowlock'
    objects | sort >created
    rm "$stage$(pg pg_config --sharedir)"/extension/rowlock*2.sql
    ROWLOCK=$now
    make_extension install-extension DESTDIR="$stage" # for the other tests
    diff created updated
}

@test "CREATE EXTENSION beside an installed schema is refused, with a hint, and changes nothing" {
    rowlock schema install
    rowlock next invoice
    objects >before
    run ! as_tester 'CREATE EXTENSION rowlock'
    [[ $output == *"already in this database"*HINT*"docs/extension.md"* ]]
    objects >after
    diff before after
    [ "$(rowlock next invoice)" = 2 ]
}

@test "an installer and CREATE EXTENSION concurrently: one of them creates it, the other finds it" {
    as_tester "CREATE FUNCTION tries() RETURNS text LANGUAGE plpgsql AS \$\$
               BEGIN CREATE EXTENSION rowlock; RETURN 'created';
               EXCEPTION WHEN duplicate_schema THEN RETURN 'refused'; END \$\$"
    rowlock schema install >installer 2>&1 3>&- &
    installer=$!
    run as_tester 'SELECT tries()'
    wait $installer
    cat installer
    echo "$output"
    if [ "$output" = created ]; then
        grep -q 'already.*as an extension' installer
    else
        [ "$output" = refused ]
        grep -q 'is installed in' installer
    fi
    rowlock run x -- true
}

@test "DROP EXTENSION leaves nothing, and keeps other objects in its schema" {
    as_tester 'CREATE EXTENSION rowlock'
    rowlock run x -- true
    as_tester 'CREATE TABLE rowlock.own (n integer)'
    run as_tester 'DROP EXTENSION rowlock'
    [[ $output == *"table rowlock.own depends on schema rowlock"* ]]
    as_tester 'ALTER TABLE rowlock.own SET SCHEMA public'
    as_tester 'DROP EXTENSION rowlock'
    [ "$(sql "SELECT count(*) FROM pg_namespace WHERE nspname = 'rowlock'")" = 0 ]
    [ "$(sql "SELECT count(*) FROM pg_class
               WHERE relname IN ('number', 'lease', 'waiter', 'counter', 'origin')")" = 0 ]
    run -69 rowlock run -n x -- true
    as_tester 'CREATE EXTENSION rowlock'
    rowlock run -w 20 x -- true
}

@test "schema print --extension: the text that make installs; only PostgreSQL, technique native" {
    "$ROWLOCK" schema print postgresql --extension >printed
    cmp printed "$stage$(pg pg_config --sharedir)/extension/rowlock--1.sql"
    run ! grep -qE '^(BEGIN;|COMMIT;|GRANT )' printed
    run psql -qX "$ROWLOCK_TEST_URL" -f printed # as a mistake: psql instead of CREATE EXTENSION
    [[ $output == *"CREATE EXTENSION rowlock"* ]]
    [ "$(sql "SELECT count(*) FROM pg_namespace WHERE nspname = 'rowlock'")" = 0 ]
    run "$ROWLOCK" schema print postgresql --extension --technique insert
    [[ $status -ne 0 && $output == *"schema install --technique insert"* ]]
    run "$ROWLOCK" schema print mariadb --extension
    [[ $status -ne 0 && $output == *"not for mariadb"* ]]
    run rowlock schema install --extension
    [[ $status = 64 && $output == *"CREATE EXTENSION rowlock"* ]]
}

@test "make uninstall-extension leaves no file; without PGXS make names the missing package" {
    make_extension install-extension DESTDIR="$PWD/there"
    [ "$(find there -type f | wc -l)" = 2 ]
    [ "$(find there -name rowlock.control -perm 644)" \
        = "there$(pg pg_config --sharedir)/extension/rowlock.control" ]
    make_extension uninstall-extension DESTDIR="$PWD/there"
    [ "$(find there -type f)" = "" ]
    run ! make_extension install-extension PG_CONFIG=/nowhere/pg_config DESTDIR="$PWD/there"
    [[ $output == \
        *"/nowhere/pg_config does not run: install the package postgresql-server-dev-NN"* ]]
    printf '#!/bin/sh\necho /nowhere/pgxs.mk\n' >client_only
    chmod +x client_only
    run make_extension install-extension PG_CONFIG="$PWD/client_only" DESTDIR="$PWD/there"
    [[ $status -ne 0 && $output == *"there is no /nowhere/pgxs.mk"*"postgresql-server-dev-NN"* ]]
    [ "$(find there -type f)" = "" ]
}
