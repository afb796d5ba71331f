#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# YugabyteDB without a real one: a proxy makes PostgreSQL report that it is YugabyteDB, and accept
# its settings. This shows that the schema parses and works, but not how a cluster behaves.
# Runs on: postgresql/native
# Quick: never

load lib
load yugabytedb.bash

@test "version() identifies it: technique native is installed, the others are not offered" {
    run rowlock schema install
    [[ $output == *"technique native"* ]]
    for technique in row insert; do
        run -64 rowlock schema install --technique $technique
        [[ $output == *"yugabytedb does not offer technique $technique; it has native"* ]]
    done
    sql "SELECT prosrc FROM pg_proc WHERE proname = 'next_number'" | grep -F 'UPDATE rowlock.origin'
}

@test "a version without advisory locks is refused" {
    rowlock schema uninstall --force
    answers() { # VERSION
        sql "CREATE OR REPLACE FUNCTION standin.version() RETURNS text LANGUAGE sql AS
             \$\$ SELECT 'PostgreSQL 15.12-YB-$1-b0 on x86_64-pc-linux-gnu'::text \$\$"
    }
    answers 2024.2.4.0
    run rowlock schema install
    old="$status $output"
    answers 2025.2.0.0
    run rowlock schema install
    new="$status $output"
    answers 2025.1.0.0
    printf '%s\n' "$old" "$new"
    [[ $old == "69 "*"older than YugabyteDB 2025.1, the first version with advisory locks"* ]]
    [[ $new == "0 "* ]]
}

@test "a caller's handle identifies it too, without any statement" {
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
    ${CC:-cc} ${SANITIZE:+-fsanitize=$SANITIZE} -I"$BATS_TEST_DIRNAME/../../include" program.c \
        -o program \
        $(pkg-config --cflags libpq) "$(dirname "$ROWLOCK")/librowlock.a" $(pkg-config \
            --libs libpq) -ldl -pthread
    run ./program "$ROWLOCK_TEST_URL"
    [[ $output == *"yugabytedb does not offer technique insert"* ]]
    run ./program "$direct"
    [[ $output != *yugabytedb* ]]
}

@test "a function version() in another schema of the search path does not mislead" {
    sql "CREATE SCHEMA trap; CREATE FUNCTION trap.version() RETURNS text LANGUAGE sql AS
         \$\$ SELECT 'PostgreSQL 15.2-YB-2025.1.0.0-b0'::text \$\$; GRANT USAGE
         ON SCHEMA trap TO PUBLIC;
         ALTER DATABASE \"${direct##*/}\" SET search_path = trap, pg_catalog"
    [ "$(psql -qXAt "$direct" -c 'SELECT version()')" = "PostgreSQL 15.2-YB-2025.1.0.0-b0" ]
    run "$ROWLOCK" --db "$direct" schema install --technique native
    sql "ALTER DATABASE \"${direct##*/}\" RESET search_path; DROP SCHEMA trap CASCADE"
    echo "$output"
    [[ $output != *yugabytedb* ]]
}

@test "jobs, subjects, counters and the demonstration" {
    rowlock job --every 1d j -- touch done
    [ -e done ]
    rowlock job --every 1d j -- touch again
    [ ! -e again ]
    rowlock refresh s --max-age 1h -- touch fresh
    rm fresh
    rowlock refresh s --max-age 1h -- touch fresh
    [ ! -e fresh ]
    rowlock subjects | grep COMPLETE
    [ "$(rowlock next c)$(rowlock next c)" = 12 ]
    rowlock demo --workers 3 --hold 1
}

@test "a wait that the cluster ends is a timeout" {
    sql "CREATE OR REPLACE FUNCTION rowlock.lock_name(name text, shared boolean, token bigint,
             may_wait boolean) RETURNS integer LANGUAGE plpgsql AS \$\$ BEGIN RAISE EXCEPTION
         'Perform RPC (request call id 102) to 10.0.0.39:9100 timed out after 4.000s'
         USING ERRCODE = 'XX000'; END \$\$"
    run rowlock run --tx -w 20 x -- touch ran
    one="$status $output"
    run rowlock run --tx x -- touch ran
    two="$status $output"
    rowlock schema uninstall --force
    printf '%s\n' "$one" "$two"
    [[ $one == "75 "*"not acquired in time"* ]]
    [[ $two == "75 "*"not acquired in time"* ]]
    [ ! -e ran ]
}

@test "a cluster without READ COMMITTED is refused, with the name of the missing flag" {
    sql "ALTER DATABASE \"${direct##*/}\"
         SET yb.effective_transaction_isolation_level = 'repeatable read'"
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
