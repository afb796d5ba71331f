#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The statements that the line about a wait and the live view cost, as a server of the test's own
# logs them.
# Runs on: postgresql/native
# Quick: never

load lib
load own_server.bash
load terminal.bash

setup_file() {
    use_own
    rowlock schema install
    sql "ALTER ROLE tester SET log_statement = 'all'"
}
now_ms() { date +%s%3N; }
lists() { grep -c 'FROM rowlock\.list(' "$own_log" || true; }
waiters_are() {
    [ "$(sql 'SELECT count(*) FROM rowlock.waiter')" = "$1" ]
}

# A slow machine only lengthens the measured time.
@test "the line costs one query in 5 s, none in the first second, and none without a terminal" {
    rowlock hold a --for 1h --note n
    before=$(lists)
    start_rowlock run a -- true
    until_true waiters_are 1
    began=$(now_ms)
    start env TERM=xterm script -qefc \
        "stty cols 200; '$ROWLOCK' --db '$ROWLOCK_TEST_URL' run a -- true" screen
    until_true waiters_are 2
    n=0
    while [ "$n" -lt 4 ]; do
        n=$(($(lists) - before))
        passed=$(($(now_ms) - began))
        echo "$n after $passed ms"
        [ "$n" = 0 ] || [ "$passed" -ge $((1000 + 5000 * (n - 1))) ]
        [ "$passed" -lt 300000 ]
        sleep 0.1
    done
}

logged() { sed "1,${from}d" "$own_log"; }
count_logged() { logged | grep -c -- "$1" || true; }
has_filtered() {
    [ "$(count_logged "x256a25', \$2 = '0', \$3 = '5', \$4 = '1000', \$5 = '1'")" -gt 0 ]
}
has_read() { [ "$(count_logged 'LOG: *execute .*: SELECT r.state')" -ge 4 ]; }

# conformance/job_health and leases/lists prove that the statements obey these limits.
@test "top reads by two statements an interval, each limited by the screen, of many jobs" {
    sql "INSERT INTO rowlock.job (name, version, schedule, due, failed)
        SELECT 'j' || i, 1, 'every 1d',
               floor(extract(epoch FROM clock_timestamp())::numeric * 1000)::bigint - 7200000, 0
          FROM pg_catalog.generate_series(1, 300) i"
    from=$(wc -l <"$own_log")
    TERM=xterm NO_COLOR=1 at_terminal \
        "stty rows 20 cols 100; exec '$ROWLOCK' --db '$ROWLOCK_TEST_URL' top --interval 500ms"
    until_true has_read
    type_in '/j\n'
    until_true has_filtered
    type_in q
    exec 5>&-
    until_true is_gone "$started"
    logged | grep -v '^ \|^\t' | cut -c1-150
    jobs=$(count_logged 'LOG: *execute .*: WITH named')
    names=$(count_logged 'LOG: *execute .*: SELECT r.state')
    [ "$jobs" = "$names" ] || [ "$jobs" = $((names + 1)) ]
    [ "$(count_logged "\$2 = '6', \$3 = '60000', \$4 = '1000', \$5 = '3'")" = "$jobs" ]
    [ "$(count_logged "\$3 = '5', \$4 = '\(20', \$5 = '0\|1000', \$5 = '1\)'")" = "$names" ]
    run ! grep -q 'WHERE $1::bytea IS NULL OR job.name' <(logged) # all jobs
    tr -d '\000' <screen | grep -a 'and 294 more'
    tr -d '\000' <screen | grep -a '300 jobs: 300 late'
}
