#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tests/vendor/run on a server that it did not start: PostgreSQL, natively and through ODBC.
# Runs on: postgresql/native
# Quick: never

load lib.bash

setup_file() { :; } # nothing is installed
setup() {
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    export BUILD=$ROWLOCK_TEST_BIN
    odbc="odbc:Driver=$(find /usr/lib -name psqlodbcw.so -print -quit);Server=127.0.0.1"
    odbc="$odbc;Port=$ROWLOCK_TEST_POSTGRESQL_PORT;Database=${ROWLOCK_TEST_URL##*/};UID=tester"
}
vendor() { env -u ROWLOCK_TEST_FOLDER tests/vendor/run --quick "$@" 3>&-; }
rowlocks_tables() {
    sql "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'rowlock%' OR schemaname = 'rowlock'"
}

@test "a report names the engine, the facts, and each program" {
    for url in "$ROWLOCK_TEST_URL" "$odbc"; do
        run -0 vendor --report "$BATS_TEST_TMPDIR/report" "$url" conformance/counter
        cat "$BATS_TEST_TMPDIR/report"
        grep -q '^engine: *postgresql$' "$BATS_TEST_TMPDIR/report"
        grep -q '^version: *PostgreSQL [0-9]' "$BATS_TEST_TMPDIR/report"
        grep -q '^tests: *[1-9][0-9]* passed, 0 failed, of 1 programs$' "$BATS_TEST_TMPDIR/report"
        grep -q '^demo: *passed$' "$BATS_TEST_TMPDIR/report"
        grep -q '^    shared locks: together$' "$BATS_TEST_TMPDIR/report"
        grep -q '^    ok .* conformance/counter postgresql/' "$BATS_TEST_TMPDIR/report"
        [ "$(rowlocks_tables)" = 0 ]
    done
    grep -q '^transport: *ODBC' "$BATS_TEST_TMPDIR/report"
}

@test "a database that is not empty is refused, unless --drop is given" {
    rowlock schema install
    rowlock next invoice
    run -75 vendor "$ROWLOCK_TEST_URL" conformance/counter
    [[ $output == *"not empty: it has rowlock.meta"* ]]
    [ "$(rowlock next invoice)" = 2 ]
    rowlock schema uninstall --force
    sql 'CREATE TABLE counted (n INTEGER)'
    run -75 vendor "$ROWLOCK_TEST_URL" conformance/counter
    [[ $output == *"not empty: it has counted"* ]]
    sql 'ALTER TABLE counted OWNER TO tester'
    run -0 vendor --drop "$ROWLOCK_TEST_URL" conformance/counter
    [ "$(sql "SELECT count(*) FROM pg_tables WHERE tablename = 'counted'")" = 0 ]
}

@test "a test that fails is named, and the status is 1" {
    # no program has this name, which counts as a failure
    run -1 vendor --report "$BATS_TEST_TMPDIR/report" "$ROWLOCK_TEST_URL" conformance/no_such_test
    grep -q '^    no test of that name' "$BATS_TEST_TMPDIR/report"
}

@test "no server, and wrong usage" {
    run -69 vendor "postgresql://tester@127.0.0.1:1/none"
    run -64 vendor
    run -64 vendor sqlite:x.db
}
