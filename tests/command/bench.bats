#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# make bench with missing software, and with only a part of it requested. The results of the
# measurements are not tested.
# Quick: never

# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    export BUILD=$ROWLOCK_TEST_BIN BENCH_OUTPUT=$BATS_TEST_TMPDIR/out BENCH_SECONDS=1
    export BENCH_FOLDER=$ROWLOCK_TEST_FOLDER # which a server's user may enter
    unset BENCH_PEERS BENCH_WORKLOADS BENCH_REPETITIONS BENCH_NAMES BENCH_DOCUMENTS \
        BENCH_DOCUMENTS_OPTIONS
}
without() { # COMMAND...: a PATH without these commands
    local folder command
    for folder in /usr/sbin /usr/bin /sbin /bin; do
        for command in "$folder"/*; do
            case " $* " in *" ${command##*/} "*) continue ;; esac
            echo "$command"
        done
    done >"$BATS_TEST_TMPDIR/commands"
    mkdir "$BATS_TEST_TMPDIR/bin"
    xargs -d '\n' ln -sf -t "$BATS_TEST_TMPDIR/bin" <"$BATS_TEST_TMPDIR/commands"
    PATH=$BATS_TEST_TMPDIR/bin
}
rows() { # WORKLOAD: its entries in bench.json
    /usr/bin/python3 - "$1" "$BENCH_OUTPUT/bench.json" <<'PYTHON'
import json, sys
for row in json.load(open(sys.argv[2]))["rows"]:
    if row["workload"] == sys.argv[1]:
        print(row["rowlock"], row["peer"])
PYTHON
}

@test "a peer that is not installed is absent, with the reason; the others are measured" {
    without etcd etcdctl redis-server redis-cli java gnuplot
    BENCH_PEERS="etcd redis zookeeper flock" BENCH_WORKLOADS="process" \
        run --separate-stderr bench/run
    echo "$status: $output $stderr"
    [ "$status" = 0 ]
    for peer in etcd redis zookeeper; do
        [[ $stderr == *"absent: $peer: "*"is not installed"* ]]
        [[ $output == *"**Absent: $peer**: "*"is not installed"* ]]
    done
    [[ $output != *"Absent: flock"* ]]
    [[ $stderr == *"no plots: gnuplot is not installed"* ]]
    [ "$(rows process)" = "rowlock-sqlite-lease flock" ]
}

@test "only requested parts are measured, and no other plot is drawn" {
    BENCH_PEERS="flock" BENCH_WORKLOADS="uncontended-1 takeover" run --separate-stderr bench/run
    echo "$status: $output $stderr"
    [ "$status" = 0 ]
    [ "$(rows uncontended-1 | sort -u)" = "rowlock-sqlite-lease flock" ]
    [ "$(rows takeover)" = "rowlock-sqlite-lease flock" ]
    [ -z "$(rows hot)$(rows process)$(rows documents)" ]
    [[ $stderr == *"this will take about "* ]]
    [[ $stderr == *"it took "* ]]
    [[ $stderr != *warning* ]]
    [ ! -e "$BENCH_OUTPUT/bench/handover.svg" ]
    [ ! -e "$BENCH_OUTPUT/bench/contended.svg" ]
    if command -v gnuplot; then grep -q '</svg>' "$BENCH_OUTPUT/bench/throughput.svg"; fi
}

@test "an unknown peer or workload is refused before a server is started" {
    BENCH_FOLDER=$BATS_TEST_TMPDIR
    BENCH_PEERS="unknown" run -64 bench/run
    [[ $output == *"no peer unknown"*"postgres-advisory"* ]]
    BENCH_WORKLOADS="hot nothing" run -64 bench/run
    [[ $output == *"no workload nothing"* ]]
    [ ! -e "$BENCH_OUTPUT" ]
    run ! compgen -G "$BENCH_FOLDER/rowlock-bench.*"
}
