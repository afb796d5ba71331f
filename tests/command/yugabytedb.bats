#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# YugabyteDB as far as it goes without one: a stand-in makes PostgreSQL say that it is YugabyteDB, and takes its settings.
# So the text is known to parse and to do its work; not what a cluster makes of it.
# Runs on: postgresql/row

bats_require_minimum_version 1.5.0
load lib
load run.bash

setup_file() {
    export STANDIN=$BATS_FILE_TMPDIR/port
    sql "CREATE SCHEMA standin; GRANT USAGE ON SCHEMA standin TO PUBLIC;
         CREATE FUNCTION standin.version() RETURNS text LANGUAGE sql AS
         \$\$ SELECT 'PostgreSQL 15.2-YB-2025.1.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang'::text \$\$"
    perl "$BATS_TEST_DIRNAME/../lib/yugabytedb.pl" "$ROWLOCK_TEST_POSTGRESQL_PORT" "$STANDIN" \
        </dev/null >"$BATS_FILE_TMPDIR/log" 2>&1 3>&- &
    echo $! >"$BATS_FILE_TMPDIR/pid"
    until_true is_there "$STANDIN"
}
teardown_file() { kill "$(cat "$BATS_FILE_TMPDIR/pid")"; }
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    direct=$ROWLOCK_TEST_URL
    export ROWLOCK_TEST_URL=${direct/:$ROWLOCK_TEST_POSTGRESQL_PORT/:$(cat "$STANDIN")}
    rowlock schema install >/dev/null
}


run_psql() { psql -qXAt -v ON_ERROR_STOP=1 -v VERBOSITY=verbose "$ROWLOCK_TEST_URL" "$@"; }

@test "version() tells it: technique row is installed, the others are not offered" {
    run rowlock schema install
    [[ $output == *"technique row"* ]]
    for technique in native insert; do
        run rowlock schema install --technique $technique
        echo "$output"
        [ "$status" = 64 ]
        [[ $output == *"yugabytedb does not offer technique $technique; it has row"* ]]
    done
    sql "SELECT prosrc FROM pg_proc WHERE proname = 'make_known'" | grep -F 'SET LOCAL yb'
}

@test "a handle of the caller's tells it too, though nothing is sent on it" {
    cat >program.c <<'C'
#include <libpq-fe.h>
#include <rowlock/postgresql.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    struct rowlock_connection *connection = NULL;
    struct rowlock_plan plan = {.technique = ROWLOCK_INSERT};
    struct rowlock_error error = {0};
    PGconn *conn = PQconnectdb(argv[argc - 1]);

    if (!rowlock_postgresql_wrap(conn, NULL, &connection, &error))
        rowlock_install(connection, &plan, &error);
    puts(error.text);
    rowlock_close(connection);
    PQfinish(conn);
    return 0;
}
C
    # shellcheck disable=SC2046
    ${CC:-cc} ${SANITIZE:+-fsanitize=$SANITIZE} -I"$BATS_TEST_DIRNAME/../../include" program.c -o program \
        $(pkg-config --cflags libpq) "$(dirname "$ROWLOCK")/librowlock.a" $(pkg-config --libs libpq) -ldl -pthread
    run ./program "$ROWLOCK_TEST_URL"
    echo "$output"
    [[ $output == *"yugabytedb does not offer technique insert"* ]]
    run ./program "$direct"
    echo "$output"
    [[ $output != *yugabytedb* ]]
}

@test "a function version() in somebody's search path deceives nobody" {
    sql "CREATE SCHEMA trap; CREATE FUNCTION trap.version() RETURNS text LANGUAGE sql AS
         \$\$ SELECT 'PostgreSQL 15.2-YB-2025.1.0.0-b0'::text \$\$; GRANT USAGE ON SCHEMA trap TO PUBLIC;
         ALTER DATABASE \"${direct##*/}\" SET search_path = trap, pg_catalog"
    [ "$(psql -qXAt "$direct" -c 'SELECT version()')" = "PostgreSQL 15.2-YB-2025.1.0.0-b0" ]
    run "$ROWLOCK" --db "$direct" schema install --technique native
    sql "ALTER DATABASE \"${direct##*/}\" RESET search_path; DROP SCHEMA trap CASCADE"
    echo "$output"
    [[ $output != *yugabytedb* ]]
}

@test "p1 locks, leases and permits exclude each other" {
    hold x
    for option in --tx --tx\ -s "" -s; do
        # shellcheck disable=SC2086
        run rowlock run -n $option x -- touch ran
        echo "$output"
        [ "$status" = 75 ]
    done
    run rowlock run --tx -w 1 x -- touch ran
    [ "$status" = 75 ]
    let_go
    token=$(rowlock acquire --ttl 60s x)
    for option in --tx --tx\ -s "" -s "--limit 2"; do
        # shellcheck disable=SC2086
        run rowlock run -n $option x -- touch ran
        [ "$status" = 75 ]
    done
    run rowlock run --tx -w 1 x -- touch ran
    [ "$status" = 75 ]
    rowlock release x --token "$token"
    token=$(rowlock acquire -s --ttl 60s x)
    rowlock run -n -s x -- true
    rowlock run -n -s --tx x -- true
    run rowlock run -n x -- touch ran
    [ "$status" = 75 ]
    rowlock release x --token "$token"
    [ ! -e ran ]
}

@test "p3 tokens rise, in the order of the grants, over several sessions" {
    for name in a b a c b a; do rowlock acquire --ttl 60s $name >>tokens; rowlock break --now $name; done
    sort -n -u tokens | diff tokens -
    [ "$(wc -l <tokens)" = 6 ]
}

@test "who waits for a lease gets it when it is released, and when its holder is gone" {
    token=$(rowlock acquire --ttl 60s x)
    start "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run x -- touch first
    one=$started
    until_true is_waited_for x
    rowlock release x --token "$token"
    wait "$one"
    [ -e first ]
    rowlock acquire --ttl 1s x
    rowlock run -w 30 x -- touch second
    [ -e second ]
}

@test "a transaction waits for the one before it, and for a lease" {
    hold x
    start "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx x -- touch forever
    one=$started
    start "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx -w 30 x -- touch limited
    two=$started
    until_true somebody_waits
    [ ! -e forever ]
    [ ! -e limited ]
    let_go
    wait "$one"
    wait "$two"
    [ -e forever ]
    [ -e limited ]
    token=$(rowlock acquire --ttl 60s x)
    start "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx -w 30 x -- touch later
    one=$started
    rowlock release x --token "$token"
    wait "$one"
    [ -e later ]
}

@test "jobs, subjects, counters and the demonstration" {
    rowlock job --every 1h j -- touch done
    [ -e done ]
    rowlock job --every 1h j -- touch again
    [ ! -e again ]
    rowlock refresh s --max-age 1h -- touch fresh
    rm fresh
    rowlock refresh s --max-age 1h -- touch fresh
    [ ! -e fresh ]
    rowlock subjects | grep COMPLETE
    [ "$(rowlock next c)$(rowlock next c)" = 12 ]
    rowlock demo --workers 3 --hold 1
}

@test "a wait that the cluster ends is a time-out" {
    sql "CREATE OR REPLACE FUNCTION rowlock.make_known(name text) RETURNS void LANGUAGE plpgsql AS
         \$\$ BEGIN RAISE EXCEPTION 'Perform RPC (request call id 102) to 10.0.0.39:9100 timed out after 4.000s'
         USING ERRCODE = 'XX000'; END \$\$"
    run rowlock run --tx -w 20 x -- touch ran
    one="$status $output"
    run rowlock run --tx x -- touch ran
    two="$status $output"
    rowlock schema uninstall
    printf '%s\n' "$one" "$two"
    [[ $one == "75 "*"not acquired in time"* ]]
    [[ $two == "75 "*"not acquired in time"* ]]
    [ ! -e ran ]
}

@test "a cluster that has no READ COMMITTED is refused, and told which flag it lacks" {
    sql "ALTER DATABASE \"${direct##*/}\" SET yb.effective_transaction_isolation_level = 'repeatable read'"
    run rowlock run --tx -n x -- touch ran
    one="$status $output"
    run rowlock run -n x -- touch ran
    two="$status $output"
    run run_psql -c "SELECT rowlock.exclusive('x')"
    sql "ALTER DATABASE \"${direct##*/}\" RESET yb.effective_transaction_isolation_level"
    printf '%s\n' "$one" "$two" "$output"
    [[ $one == *"REPEATABLE READ"* ]]
    [[ $two == *"REPEATABLE READ"* ]]
    [[ $output == *RL001*yb_enable_read_committed_isolation=true* ]]
    [ ! -e ran ]
}

# ---- the text -------------------------------------------------------------------------------------------

@test "what is printed uses nothing that YugabyteDB has not" {
    rowlock schema print yugabytedb | sed 's/--.*//' >text
    [ "$(wc -l <text)" -gt 1000 ]
    grep -qF yb_disable_transactional_writes text
    run ! grep -nE 'xmin|ctid|xid8|xact_id|pg_locks|advisory|nextval|currval|setval|SEQUENCE|postmaster|MATERIALIZED|autovacuum' text
    for technique in native insert; do
        run rowlock schema print yugabytedb --technique $technique
        [[ $output == *"does not offer technique $technique"* ]]
    done
}

@test "a function that PostgreSQL's schema has no more is noticed" {
    cp -r "$BATS_TEST_DIRNAME/../../sql" "$BATS_TEST_DIRNAME/../../tools" .
    tools/derive-schema yugabytedb postgresql row >/dev/null
    sed -i 's/^CREATE FUNCTION rowlock.mark(name text)/CREATE FUNCTION rowlock.mark(label text)/' sql/postgresql/schema/row.sql
    run tools/derive-schema yugabytedb postgresql row
    echo "$output"
    [ "$status" != 0 ]
    [[ $output == *"has no CREATE FUNCTION rowlock.mark(name text)"* ]]
}

# ---- the article's combinations, by psql ------------------------------------------------------------------

install_printed() { # the text that a person runs, but for the settings that PostgreSQL has not
    rowlock schema uninstall
    rowlock schema print yugabytedb --role tester | sed 's/\byb_/yb./' >schema.sql
    run_psql -f schema.sql >/dev/null
}
second_gets() { # FIRST SECOND NAME LIMIT_MS: what a second session gets while a first has the name
    export second="SET statement_timeout = $4; SELECT 'got ' || (rowlock.$2('$3') IS NOT NULL)" url=$ROWLOCK_TEST_URL
    run_psql <<SQL
BEGIN;
SELECT rowlock.$1('$3');
\! psql -qXAt -v VERBOSITY=verbose "\$url" -c "\$second" 2>&1
ROLLBACK;
SQL
}

@test "the article: sharers share, all others wait until their statement_timeout" {
    install_printed
    run_psql -c "SELECT rowlock.shared('1')" # autocommit: gone at once, and known
    run second_gets shared shared 1 20000
    echo "$output"
    [[ $output == *"got true"* ]]
    local first second
    for first in shared exclusive; do
        for second in shared exclusive; do
            [ $first$second != sharedshared ] || continue
            for name in 1 $first$second; do # known and new
                run second_gets $first $second $name 1000
                echo "$first $second $name: $output"
                [[ $output == *57014* ]]
                [[ $output != *got* ]]
            done
        done
    done
}

@test "the article: lock_timeout, which the server does not know for rows, is kept all the same" {
    install_printed
    run_psql -c "SELECT rowlock.prepare('1')"
    run run_psql <<'SQL'
BEGIN;
SELECT rowlock.exclusive('1');
\! psql -qXAt -v VERBOSITY=verbose "$ROWLOCK_TEST_URL" -c "SET lock_timeout = 1000; SELECT rowlock.exclusive('1')" 2>&1
\! psql -qXAt "$ROWLOCK_TEST_URL" -c "BEGIN; SELECT 'tried ' || rowlock.try_shared('1', '1 s')" 2>&1
COMMIT;
SQL
    echo "$output"
    [[ $output == *"55P03: rowlock: not locked within lock_timeout"* ]]
    [[ $output == *"tried false"* ]]
}

@test "the article: vacuum removes all names but those that are locked" {
    install_printed
    for name in 1 2 4; do run_psql -c "SELECT rowlock.shared('$name')"; done
    run run_psql <<'SQL'
BEGIN;
SELECT rowlock.shared('4');
\! psql -qXAt "$ROWLOCK_TEST_URL" -c "SELECT 'removed ' || rowlock.vacuum()"
COMMIT;
SELECT 'left ' || name FROM rowlock.name;
SQL
    echo "$output"
    [[ $output == *"removed 2"*"left 4" ]]
}
