#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# -w while the database does not answer: a proxy falls silent before some answer, or on request. The
# measure of time is another rowlock with a longer -w, which cannot even connect: it must still be
# waiting then, though giving up a statement takes longer.
# Runs on: postgresql/native mariadb/row
# Quick: never

load lib
load proxy.bash

start_measure() { # SECONDS
    start "$ROWLOCK" --db "$proxy_url" acquire -w "$1" --ttl 60s measure
    measure=$started
}
is_still_measured() { ! is_gone "$measure"; }

@test "-w ends soon after its time, whichever answer of the database is the first to be missing" {
    for answers in {0..15}; do
        start_proxy "$answers" "port$answers"
        start "$ROWLOCK" --db "$proxy_url" acquire -w 1 --ttl 60s "a$answers"
        waiting[answers]=$started
    done
    start_proxy 0 measuring
    start_measure 11
    for answers in {0..15}; do
        statuses[answers]=0
        wait "${waiting[answers]}" || statuses[answers]=$?
    done
    is_still_measured
    echo "${statuses[@]}"
    cat err
    for answers in {0..3}; do [ "${statuses[answers]}" = 69 ]; done
    for answers in {4..15}; do [[ ${statuses[answers]} =~ ^(0|69)$ ]]; done
}

@test "-w ends soon after its time, if the database falls silent during the wait for the lock" {
    hold a
    start_proxy
    start "$ROWLOCK" --db "$proxy_url" run -w 6 --ttl 60s a -- touch ran
    waiting=$started
    until_true is_waited_for a
    kill -s STOP "$proxy_pid"
    start_measure 16
    ends_with 69 "$waiting"
    is_still_measured
    cat err
    grep -q "^rowlock: acquiring 'a': " err
    [ ! -e ran ]
    let_go
}

@test "-w of a transaction's lock ends soon after its time too" {
    hold b
    start_proxy
    start "$ROWLOCK" --db "$proxy_url" run --tx -w 6 b -- touch ran
    waiting=$started
    until_true somebody_waits
    kill -s STOP "$proxy_pid"
    start_measure 16
    ends_with 69 "$waiting"
    is_still_measured
    cat err
    [ ! -e ran ]
    let_go
}
