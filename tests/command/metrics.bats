#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# metrics: the state of the farm for Prometheus.
# Runs on: sqlite postgresql mariadb
# Quick: sqlite/native
# Rest: sqlite/native

load lib

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    held=
}
teardown() {
    end_started TERM
    [ -z "$held" ] || rowlock break --now "$held"
}
samples() { # ARGUMENT...: checked, and one per line
    rowlock metrics "$@" >text
    perl "$BATS_TEST_DIRNAME/../lib/exposition.pl" <text
}
has() { # SAMPLE... [--name PATTERN]: exactly these lines, in one answer
    local sample wanted=()
    while [ $# != 0 ] && [ "$1" != --name ]; do
        wanted+=("$1")
        shift
    done
    samples "$@" >found
    for sample in "${wanted[@]}"; do
        grep -qxF -- "$sample" found || { echo "no $sample"; cat found; return 1; }
    done
}
waits() { has "rowlock_locks{state=waiting} $1"; }

@test "an empty farm: up, and nothing is held" {
    has "rowlock_up 1" "rowlock_locks{state=held} 0" "rowlock_locks{state=waiting} 0"
    grep -q '^rowlock_build_info{version="[0-9.]*"} 1$' text
    if grep -q rowlock_lease_ text; then return 1; fi
}

@test "locks are counted by state, their names only if they match" {
    held=one
    rowlock acquire --ttl 1h one
    start_rowlock acquire --ttl 1h -w 1h one
    until_true waits 1
    has "rowlock_locks{state=held} 1"
    if grep -q rowlock_lease_ text; then return 1; fi
    has "rowlock_lease_held{name=one,mode=exclusive} 1" "rowlock_lease_waiting{name=one} 1" \
        --name 'o*'
    grep -q '^rowlock_lease_expiry_timestamp_seconds{name="one"} [0-9]' text
    samples --name 'x*' >found
    if grep one found; then return 1; fi
    rowlock break one
    has "rowlock_locks{state=stopping} 1"
}

@test "the oldest wait is counted by the database's clock" {
    held=old
    rowlock acquire --ttl 1h old
    start_rowlock acquire --ttl 1h -w 1h old
    is_old() {
        samples >found
        awk '$1 == "rowlock_oldest_wait_seconds" && $2 > 0.5 && $2 < 60 { ok = 1 }
             END { exit !ok }' found
    }
    until_true is_old
}

@test "permits: holders, and the limit" {
    held=seats
    rowlock acquire --ttl 1h --limit 3 seats
    rowlock acquire --ttl 1h --limit 3 seats
    has "rowlock_lease_held{name=seats,mode=permit} 2" "rowlock_lease_limit{name=seats} 3" \
        --name seats
}

@test "what others wrote is escaped" {
    held=$'a"b\\c\nd'
    rowlock acquire --ttl 1h "$held"
    has 'rowlock_lease_held{name=a"b\c\x0ad,mode=exclusive} 1' --name '*'
}

@test "jobs: running, state, next and last run" {
    run rowlock job broken --every 1h -- sh -c 'exit 7'
    has "rowlock_job_last_exit_code{job=broken} 7" \
        "rowlock_job_state{job=broken,state=failing} 1" \
        "rowlock_job_state{job=broken,state=fine} 0" \
        "rowlock_job_running{job=broken} 0" \
        "rowlock_job_runs_total{job=broken,outcome=failed} 1"
    if grep -q 'last_success.*broken' text; then return 1; fi
    grep -q '^rowlock_job_next_run_timestamp_seconds{job="broken"} [0-9]' text
    grep -q '^rowlock_job_last_duration_seconds{job="broken"} [0-9]' text
}

@test "the runs of a job are counted by outcome, also after the history has dropped them" {
    local i
    ran() { run rowlock job counted --cron '@yearly' --history 1 "$@"; }
    due_again() { rowlock jobs counted --now; }
    ran -- true # plans it
    for i in 1 2; do
        due_again
        ran -- true
    done
    has "rowlock_job_runs_total{job=counted,outcome=done} 2" \
        "rowlock_job_runs_total{job=counted,outcome=lost} 0"
    grep -q '^# TYPE rowlock_job_runs_total counter$' text
    grep '^rowlock_job_last_success_timestamp_seconds{job="counted"} [0-9]' text >success
    due_again
    ran -- false
    due_again
    ran --max-run 2s -- sleep 960 # a shorter one could pass before the command starts
    has "rowlock_job_runs_total{job=counted,outcome=failed} 1" \
        "rowlock_job_runs_total{job=counted,outcome=timed out} 1" \
        "rowlock_job_runs_total{job=counted,outcome=done} 2"
    grep -qxFf success text # the failures left it as it was
    due_again
    start_rowlock job counted --cron '@yearly' -- sleep 961
    until_true has "rowlock_job_running{job=counted} 1"
    rowlock break --now job:counted
    wait "$started" || true
    has "rowlock_job_runs_total{job=counted,outcome=broken} 1"
    [ "$(rowlock --json jobs counted | json '$[0].runs_done')" = 2 ]
    [ "$(rowlock --json jobs counted | json '$[0].runs_timed_out')" = 1 ]
}

@test "subjects: the time of their data, and the last refresh" {
    rowlock refresh prices --max-age 1h -- true
    has "rowlock_subject_error{subject=prices} 0"
    grep -q '^rowlock_subject_updated_timestamp_seconds{subject="prices"} [0-9]' text
    run rowlock refresh rates --max-age 1h -- false
    has "rowlock_subject_error{subject=rates} 1"
    if grep -q 'updated.*rates' text; then return 1; fi
}

@test "--output replaces the file as a whole, as the umask permits" {
    (umask 022 && rowlock metrics --output farm.prom)
    [ "$(stat -c %a farm.prom)" = 644 ]
    perl "$BATS_TEST_DIRNAME/../lib/exposition.pl" <farm.prom >found
    grep -qx "rowlock_up 1" found
    ln farm.prom before
    (umask 077 && rowlock metrics --output farm.prom)
    [ "$(stat -c %a farm.prom)" = 600 ]
    [ "$(stat -c %h before)" = 1 ] # another file took its place
    [ "$(ls)" = "$(printf 'before\nfarm.prom\nfound')" ]
}

@test "--output - is standard output, and creates no file" {
    rowlock metrics --output - >printed
    perl "$BATS_TEST_DIRNAME/../lib/exposition.pl" <printed >found
    grep -qx "rowlock_up 1" found
    [ "$(ls)" = "$(printf 'found\nprinted')" ]
}

@test "--output follows a link, and replaces no device, pipe or folder" {
    mkdir folder
    ln -s folder/farm.prom link
    touch folder/farm.prom
    rowlock metrics --output link
    [ -L link ]
    grep -qx "rowlock_up 1" folder/farm.prom
    mkfifo pipe
    for path in pipe folder; do
        run -64 --separate-stderr rowlock metrics --output "$path"
        [ "$stderr" = "rowlock: cannot replace $path: it is not a regular file" ]
    done
    [ -p pipe ]
}

@test "a file that cannot be written is an error with its path" {
    run -125 --separate-stderr rowlock metrics --output missing/farm.prom
    [[ $stderr == *"missing/farm.prom"*"No such file"* ]]
}

@test "a database that cannot be asked: rowlock_up 0, and exit status 69" {
    run --separate-stderr "$ROWLOCK" --db postgresql://127.0.0.1:1/none metrics --output farm.prom
    [ "$status" = 69 ]
    perl "$BATS_TEST_DIRNAME/../lib/exposition.pl" <farm.prom >found
    grep -qx "rowlock_up 0" found
    [ "$(wc -l <found)" = 2 ]
}

@test "bad arguments are refused" {
    run -64 rowlock metrics x
    run -64 rowlock metrics --output ''
    run -64 rowlock metrics --name '['
    [[ $output == *"'[' has a '[' without ']' at position 1"* ]]
    run -64 --separate-stderr rowlock --json metrics
    [ -z "$output" ]
    [[ $stderr == *"metrics prints no JSON"* ]]
}

@test "the alert rules and the dashboard use metrics that exist" {
    local name examples="$BATS_TEST_DIRNAME/../../examples/monitoring"
    grep -oh 'rowlock_[a-z_]*' "$examples"/* | sort -u >used
    [ "$(wc -l <used)" -gt 5 ]
    while read -r name; do
        grep -q "\"$name\"" "$BATS_TEST_DIRNAME/../../src/show/metrics/sample.h" ||
            { echo "no such metric: $name"; return 1; }
    done <used
}

@test "control characters in a name are escaped on a terminal, and only there" {
    held=$'red\033[31m'
    rowlock acquire --ttl 1h "$held"
    script -qec "'$ROWLOCK' --db '$ROWLOCK_TEST_URL' metrics --name 'red*'" screen </dev/null \
        >/dev/null
    grep -qF 'rowlock_lease_held{name="red\x1b[31m",mode="exclusive"} 1' screen
    if grep -q $'\033' screen; then return 1; fi
    rowlock metrics --name 'red*' | grep -qF "name=\"$held\""
}
