#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The conformance suite through the YugabyteDB proxy, each program in a database of its own. Tests
# that cannot pass there are listed below with the reason: each must fail, otherwise the list is out
# of date. The programs that `passes` names run in each change, the others before a release.
# Runs on: postgresql/native
# Quick: never

load lib
load yugabytedb.bash

setup() { # a new database for each test
    cd "$BATS_TEST_TMPDIR" || return 1
    database=${ROWLOCK_TEST_URL##*/}_$BATS_TEST_NUMBER
    psql -qX "$ROWLOCK_TEST_ADMIN" -c "CREATE DATABASE $database OWNER tester"
    export ROWLOCK_TEST_ADMIN=${ROWLOCK_TEST_ADMIN%/*}/$database
    psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" -f "$BATS_TEST_DIRNAME/../lib/yugabytedb.sql"
    ROWLOCK_TEST_URL=${ROWLOCK_TEST_URL%/*}/$database
    export ROWLOCK_TEST_URL=${ROWLOCK_TEST_URL/:$ROWLOCK_TEST_POSTGRESQL_PORT/:$(cat "$STANDIN")}
    export ROWLOCK_TEST_POSTGRESQL=$ROWLOCK_TEST_URL \
        ROWLOCK_TEST_POSTGRESQL_ADMIN=$ROWLOCK_TEST_ADMIN
    export ROWLOCK_TEST_TECHNIQUE=yugabytedb
}
teardown() {
    psql -qX "${ROWLOCK_TEST_ADMIN%/*}/postgres" -c "DROP DATABASE IF EXISTS $database WITH (FORCE)"
}

passes() { # PROGRAM [TEST...]: all tests pass but these; ?TEST may pass
    local program=$1
    case "$program $ROWLOCK_TEST_EFFORT" in
    conformance/lease_basics* | conformance/counter* | leases/queue* | *full) ;;
    *) return 0 ;;
    esac
    shift
    "$ROWLOCK_TEST_BIN/tests/$program" >tap 2>&1 3>&- 4>&- || true
    cat tap
    grep -qE '^1\.\.[1-9]' tap
    [ "$(grep -cE '^(not )?ok [0-9]' tap)" = "$(sed -n 's/^1\.\.//p' tap | head -n 1)" ]
    printf '%s\n' "${@#\?}" | sort >may-fail
    printf '%s\n' "$@" | grep -v '^?' | sort >must-fail || true
    sed -nE 's/^not ok [0-9]+ - //p' tap | sort >failed
    [ -z "$(comm -13 may-fail failed)" ]
    [ $# = 0 ] || [ -z "$(comm -23 must-fail failed)" ]
}

@test "conformance: borrowed" { passes conformance/borrowed; }
@test "conformance: bound" { passes conformance/bound; }
@test "conformance: counter" { passes conformance/counter; }
@test "conformance: exclusion" { passes conformance/exclusion; }
@test "conformance: isolation" { passes conformance/isolation; }
@test "conformance: job" { passes conformance/job; }
@test "conformance: lease_basics" { passes conformance/lease_basics; }
@test "conformance: modes" { passes conformance/modes; }
@test "conformance: names" { passes conformance/names; }
@test "conformance: order" { passes conformance/order; }
@test "conformance: prepare" { passes conformance/prepare; }
@test "conformance: refresh" { passes conformance/refresh; }
# YugabyteDB has technique row alone, so any other one is refused for that reason, before its table
# is checked. It has none of the settings that the library warns of. Installers are not serialized:
# docs/internals/yugabytedb.md says to install from one node.
@test "conformance: schema" {
    passes conformance/schema another_technique_is_refused_by_name \
        p12_a_table_that_is_no_plain_name_is_refused \
        durability_names_the_setting_that_is_against_it '?eight_nodes_install_at_once'
}
@test "conformance: several" { passes conformance/several; }
@test "conformance: survival" { passes conformance/survival; }
@test "conformance: waits" { passes conformance/waits; }
@test "leases: crash" { passes leases/crash; }
@test "leases: exclusion" { passes leases/exclusion; }
@test "leases: fence" { passes leases/fence; }
@test "leases: names" { passes leases/names; }
@test "leases: queue" { passes leases/queue; }
@test "leases: refresh" { passes leases/refresh; }
@test "leases: tokens" { passes leases/tokens; }
