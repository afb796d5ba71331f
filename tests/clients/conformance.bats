#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# clients/conformance: the same scenarios by the client of each language, by the C library, by
# `rowlock cron` (those of jobs), and by clients of different languages. mistakes.bats shows what
# they find. The half of Python's package for asyncio is another client, on PostgreSQL only. With
# CLIENTS_DRIVERS=all each driver plays them without PgBouncer, too.
# Runs on: postgresql/native mariadb/row

bats_require_minimum_version 1.5.0
load ../command/lib
load lib.bash
# shellcheck source=tests/lib/server.sh
. "$BATS_TEST_DIRNAME/../lib/server.sh"
use_newer_go

LANGUAGES="python go node java c cron"
[ "$ROWLOCK_TEST_ENGINE" != postgresql ] || LANGUAGES="$LANGUAGES asyncio"

setup_file() {
    install_technique
    for language in $LANGUAGES; do
        once "scenarios/$language" "$CONFORMANCE/build" "$language"
    done
    once scenarios/drivers more_drivers
}
more_drivers() { # FOLDER: those that the machine's packages do not have
    mkdir -p "$1"
    PIP_CACHE_DIR=$ROWLOCK_TEST_BIN/pip /usr/bin/python3 -m pip install -q --target "$1" asyncpg &&
        maven "$DEPENDENCY:copy" -f "$CONFORMANCE/../java/pom.xml" -N \
            -Dartifact="com.mysql:mysql-connector-j:$CONNECTOR_J" -DoutputDirectory="$1"
}
CONNECTOR_J=$(sed -n '/>mysql-connector-j</{n;s/.*<version>\(.*\)<.*/\1/p}' \
    "$CONFORMANCE/../java/pom.xml")
export CLIENT_DRIVERS=$SHARED/scenarios/drivers

# side_by_side LANGUAGE[:DRIVER]...: each by itself
side_by_side() {
    cd "$BATS_TEST_TMPDIR"
    declare -A running
    for language; do
        scenarios "$SHARED/scenarios" "$language" >"${language/\//-}" 2>&1 3>&- &
        running[$language]=$!
    done
    failed=
    for language; do
        wait "${running[$language]}" || failed="$failed $language"
        echo "# $language"
        cat "${language/\//-}"
    done
    [ -z "$failed" ]
}

# shellcheck disable=SC2086
@test "each language by itself, and the C library" { side_by_side $LANGUAGES; }

@test "with the other drivers of each language" {
    [ "${CLIENTS_DRIVERS:-}" = all ] || return 0
    case $ROWLOCK_TEST_ENGINE in
    postgresql) side_by_side python:psycopg2 asyncio:asyncpg go:postgres ;;
    mariadb) side_by_side python:MySQLdb node:mysql2 node:mariadb java:mysql ;;
    esac
}

# Only Java's transactions have another setting: prepareThreshold=0, for the driver's own COMMIT.
@test "through PgBouncer in transaction mode, with the default settings of each driver" {
    on_postgresql || return 0
    POOL=16 start_pooler scenarios_pooler "$ROWLOCK_TEST_URL"
    export CONFORMANCE_POOLER=$server_url
    side_by_side python:psycopg python:psycopg2 asyncio:psycopg asyncio:asyncpg go:pgx go:postgres \
        node java
}
teardown_file() {
    [ ! -e "$ROWLOCK_TEST_FOLDER/scenarios_pooler/pid" ] || stop_pooler scenarios_pooler
}

# shellcheck disable=SC2086
@test "clients of different languages" { scenarios "$SHARED/scenarios" $LANGUAGES; }
