#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The text of YugabyteDB's schema, run by psql on PostgreSQL, with the article's combinations of
# locks.
# Runs on: postgresql/native
# Quick: never

load lib
load yugabytedb.bash

# ---- the text ----------------------------------------------------------------------------------

@test "the printed text uses nothing that YugabyteDB lacks" {
    rowlock schema print yugabytedb | sed 's/--.*//' >text
    [ "$(wc -l <text)" -gt 1000 ]
    grep -qF yb_effective_transaction_isolation_level text
    absent='xmin|ctid|xid8|xact_id|nextval|currval|setval|SEQUENCE|autovacuum|postmaster'
    absent+='|LOCK TABLE rowlock'
    run ! grep -nE "$absent" text
    for technique in row insert; do
        run rowlock schema print yugabytedb --technique $technique
        [[ $output == *"does not offer technique $technique"* ]]
    done
}

@test "a function that PostgreSQL's schema no longer has is an error" {
    cp -r "$BATS_TEST_DIRNAME/../../sql" "$BATS_TEST_DIRNAME/../../tools" .
    tools/derive-schema yugabytedb postgresql lease >/dev/null
    sed -i 's/^\(CREATE FUNCTION rowlock.tidy(\)before /\1older /' sql/postgresql/schema/lease.sql
    run ! tools/derive-schema yugabytedb postgresql lease
    [[ $output == *"has no CREATE FUNCTION rowlock.tidy(before timestamptz)"* ]]
}

@test "nothing is reported where SIGPIPE is ignored, as in some services and build tools" {
    cd "$BATS_TEST_DIRNAME/../.."
    run -0 --separate-stderr env --ignore-signal=PIPE \
        tools/derive-schema yugabytedb postgresql lease
    echo "$stderr"
    [ -z "$stderr" ]
}

# ---- the article's combinations, by psql ------------------------------------------------------

install_printed() { # the text that people run, without the settings that PostgreSQL does not have
    rowlock schema uninstall --force
    rowlock schema print yugabytedb --role tester | sed 's/\byb_/yb./' >schema.sql
    run_psql -f schema.sql >/dev/null
}
# FIRST SECOND NAME LIMIT_MS: the second session's answer while the first has the name
second_gets() {
    export second="SET statement_timeout = $4; SELECT 'got ' || (rowlock.$2('$3') IS NOT NULL)" \
        url=$ROWLOCK_TEST_URL
    run_psql <<SQL
BEGIN;
SELECT rowlock.$1('$3');
\! psql -qXAt -v VERBOSITY=verbose "\$url" -c "\$second" 2>&1
ROLLBACK;
SQL
}

@test "the article: sharers share, all others wait until their statement_timeout" {
    install_printed
    run second_gets shared shared 1 20000
    [[ $output == *"got true"* ]]
    local first second
    for first in shared exclusive; do
        for second in shared exclusive; do
            [ $first$second != sharedshared ] || continue
            for name in 1 $first$second; do
                run second_gets $first $second $name 1000
                echo "$first $second $name: $output"
                [[ $output == *57014* ]]
                [[ $output != *got* ]]
            done
        done
    done
}

@test "the article: lock_timeout, and a try that gives up" {
    install_printed
    export LIMITED="SET lock_timeout = 1000; SELECT rowlock.exclusive('1')"
    run run_psql <<'SQL'
BEGIN;
SELECT rowlock.exclusive('1');
\! psql -qXAt -v VERBOSITY=verbose "$ROWLOCK_TEST_URL" -c "$LIMITED" 2>&1
\! psql -qXAt "$ROWLOCK_TEST_URL" -c "BEGIN; SELECT 'tried ' || rowlock.try_shared('1', '1 s')" 2>&1
COMMIT;
SQL
    echo "$output"
    [[ $output == *"55P03: "* ]]
    [[ $output == *"tried false"* ]]
}

@test "the SQL functions: leases, the views, and unlock, which does nothing" {
    install_printed
    token=$(run_psql -c "SELECT rowlock.acquire('import', interval '60 s')")
    [ "$(run_psql -c "SELECT name, kind, mode, token, waiting
                      FROM rowlock.holders")" = "import|lease|exclusive|$token|0" ]
    [ "$(run_psql -c "SELECT count(*) FROM rowlock.waiters")" = 0 ]
    [ "$(run_psql -c "SELECT leased FROM rowlock.names WHERE name = 'import'")" = t ]
    run_psql -c "SELECT rowlock.renew($token, interval '90 s')"
    [ "$(run_psql -c "SELECT rowlock.release($token)")" = t ]
    [ "$(run_psql -c "SELECT count(*) FROM rowlock.holders")" = 0 ]
    run run_psql <<'SQL'
BEGIN;
SELECT rowlock.exclusive('1');
SELECT rowlock.unlock('1');
\! psql -qXAt "$ROWLOCK_TEST_URL" -c "SELECT 'tried ' || rowlock.try_exclusive('1')" 2>&1
COMMIT;
SELECT 'vacuum ' || rowlock.vacuum();
SQL
    echo "$output"
    [[ $output == *"tried false"*"vacuum 0" ]]
}
