#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# SIGTERM to make check and make bench ends everything that they started; and their servers leave
# nothing on the machine.
# Quick: never

load lib
# shellcheck source=tests/lib/server.sh
. "$BATS_TEST_DIRNAME/../lib/server.sh"

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1 # start() writes there
    source=$BATS_TEST_DIRNAME/../..
    # Short, because a socket's path is limited, and accessible to a server's user.
    inner=$(mktemp -d /tmp/rowlock-inner.XXXXXX)
    chmod 755 "$inner"
    export BUILD=$ROWLOCK_TEST_BIN
}
teardown() {
    end_started
    rm -rf "$inner"
}
# All processes below the folder: programs have it in their environment, servers in their command
# line.
left_over() {
    local pid
    for pid in $(grep -lsaF -e "$inner/rowlock-" /proc/[0-9]*/environ /proc/[0-9]*/cmdline |
        cut -d / -f 3 | sort -u); do
        if is_running "$pid"; then echo "$pid: $(tr '\0' ' ' <"/proc/$pid/cmdline")"; fi
    done
}
nothing_is_left() { [ -z "$(left_over)" ]; }
runs_a_test() { left_over | grep -q 'tests/sessions/crash '; }
ended_by_term() { # PID
    end_by_term "$1"
    left_over
    until_true nothing_is_left
    [ -z "$(ls "$inner")" ]
}

@test "SIGTERM to tests/run ends the servers, the tests, and their processes" {
    start env -u ROWLOCK_TEST_FOLDER TMPDIR="$inner" LIMIT=300 "$source/tests/run" \
        'sessions/crash postgresql'
    until_true runs_a_test
    ended_by_term "$started"
}

@test "SIGTERM to bench/run ends the servers and the measurement" {
    measures() { left_over | grep -q "bench/bench "; }
    start env -u ROWLOCK_TEST_FOLDER BENCH_FOLDER="$inner" \
        BENCH_OUTPUT="$BATS_TEST_TMPDIR/results" BENCH_SECONDS=600 \
        BENCH_PEERS=postgres-advisory BENCH_WORKLOADS=hot "$source/bench/run"
    until_true measures
    ended_by_term "$started"
}

@test "a PostgreSQL of the tests has nothing in /dev/shm, and leaves no segment when it is killed" {
    start_postgresql shm
    for pid in "$server_pid" $(pgrep -P "$server_pid"); do
        ! grep -q ' /dev/shm/' "/proc/$pid/maps" || false
        ! ls -l "/proc/$pid/fd" 2>/dev/null | grep -q '/dev/shm/' || false
    done
    psql -qXAt "${server_admin}postgres" -c "SET max_parallel_workers_per_gather = 2;
                                             SET parallel_setup_cost = 0;
        SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SELECT count(*)
        FROM pg_class" >/dev/null
    segment=$(sed -n '7s/.* //p' "$server_data/postmaster.pid")
    ipcs -m | awk '{ print $2 }' | grep -qx "$segment"
    stop_server shm KILL
    ! ipcs -m | awk '{ print $2 }' | grep -qx "$segment"
}
