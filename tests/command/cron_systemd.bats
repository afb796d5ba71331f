#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# cron under a service manager: the datagrams that sd_notify(3) documents, received by a listener.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: sqlite/native
# Rest: sqlite postgresql

load lib
load run.bash
load job.bash
load cron.bash

setup() {
    forget_jobs
    address=$PWD/notify
    start_listener "$address"
}

start_notifying() { # [VARIABLE=VALUE...]: starts the daemon of the file tab; its pid is in $daemon
    start env NOTIFY_SOCKET="$address" "$@" "$ROWLOCK" --db "$ROWLOCK_TEST_URL" cron tab
    daemon=$started
}
got() { grep -q "$1" datagrams; }
times() { # TIMES TEXT
    [ "$(grep -c "$2" datagrams)" -ge "$1" ]
}

@test "READY follows the first answer; STATUS names the running and the next jobs" {
    cat >tab <<'TAB'
every 50w 'a	tab' -- echo $$ >first.pid; exec sleep 970
every 50w later      --note x -- true
TAB
    start_notifying
    until_true got '^READY=1 STATUS='
    # nothing comes before READY, and the claims of this round are answers
    head -n 1 datagrams | grep '^READY=1 STATUS='
    is_running_somewhere 'a	tab'
    until_true got 'STATUS=1 running: a\\x09tab; next: [0-9][-0-9:T ]* '
    until_true is_there first.pid
    kill -s KILL "$(cat first.pid)"
    until_true got 'STATUS=nothing running; next: '
    stop_cron
    until_true got '^STOPPING=1 STATUS=stopping; nothing running$'
    [ "$(grep -c READY datagrams)" = 1 ]
    # a status is sent when it changes
    [ "$(uniq -d datagrams)" = "" ]
}

@test "no READY while the database does not answer, and none for a wrong database" {
    echo 'every 50w never -- touch ran' >tab
    case $ROWLOCK_TEST_ENGINE in
    sqlite)
        printf '%01000d' 0 >none.db # not a database: a permanent error
        ROWLOCK_TEST_URL=sqlite:$PWD/none.db
        ;;
    *)
        start_counter
        start env NOTIFY_SOCKET="$address" "$ROWLOCK" --db "$counter_url" cron tab
        until_true got '^STATUS=the database does not answer; nothing running$'
        kill -s TERM "$started"
        ends_with 0 "$started"
        until_true got '^STOPPING=1 '
        run ! got READY
        return
        ;;
    esac
    start_notifying
    ! wait "$daemon" || false
    [ ! -e ran ]
    run ! got READY
}

@test "an empty file is ready without the database" {
    : >tab
    start_notifying
    until_true got '^READY=1 STATUS=nothing running$'
    stop_cron
}

@test "a job cannot speak for the daemon: it does not inherit the address or the watchdog" {
    echo 'every 50w look -- env >seen.tmp; mv seen.tmp seen' >tab
    start_notifying WATCHDOG_USEC=60000000
    until_true is_there seen
    run ! grep -E '^(NOTIFY_SOCKET|WATCHDOG_)' seen
    stop_cron
}

@test "WATCHDOG=1 comes at half of its time while nothing is due, and in the grace period" {
    echo "every 50w slow -- echo \$\$ >slow.pid; until [ -e let-go ]; do sleep 0.02; done" >tab
    start_notifying WATCHDOG_USEC=200000
    until_true times 4 '^WATCHDOG=1$'
    until_true has_text slow.pid
    kill -s HUP "$daemon"
    until_true got '^RELOADING=1'
    kill -s TERM "$daemon"
    until_true got '^STOPPING=1 STATUS=stopping; 1 running: slow$'
    : >datagrams
    until_true times 3 '^WATCHDOG=1$'
    touch let-go
    ends_with 0 "$daemon"
}

# With 1 ms a watchdog of ours would be in the first datagrams.
@test "a watchdog of another process is not ours" {
    echo 'every 50w one -- true' >tab
    start_notifying WATCHDOG_USEC=2000 WATCHDOG_PID=1
    until_true got '^READY=1 '
    stop_cron
    until_true got '^STOPPING=1'
    run ! got WATCHDOG
}

@test "HUP: RELOADING with the time, then READY, also if the new file is wrong" {
    echo 'every 50w before -- true' >tab
    start_notifying
    until_true got '^READY=1 '
    echo 'every 40w after -- true' >tab
    kill -s HUP "$daemon"
    until_true times 2 '^READY=1 '
    until_true got '^STATUS=.*next: .* after$'
    echo 'every x wrong -- true' >tab
    kill -s HUP "$daemon"
    until_true times 3 '^READY=1 '
    grep -E '^(RELOADING|READY)' datagrams | sed -E 's/STATUS=.*//; s/[0-9]{2,}/N/' >order
    printf '%s\n' 'READY=1 ' 'RELOADING=1 MONOTONIC_USEC=N' 'READY=1 ' \
        'RELOADING=1 MONOTONIC_USEC=N' 'READY=1 ' | diff - order
    stop_cron
}

@test "an abstract address" {
    address="@rowlock-test-$$-$BATS_TEST_NUMBER-$ROWLOCK_TEST_ENGINE"
    start_listener "$address"
    echo 'every 50w one -- true' >tab
    start_notifying
    until_true got '^READY=1 '
    stop_cron
}

@test "a manager that has gone does not stop the daemon, which reports it once" {
    echo 'every 1s often -- echo often >>ran' >tab
    address=$PWD/nothing
    start_notifying WATCHDOG_USEC=20000
    until_true grep -q 'often: done' err
    stop_cron
    [ "$(grep -c 'cannot report to the service manager' err)" = 1 ]
    rm ran
    address=vsock:2:1234
    start_notifying
    until_true is_there ran
    grep 'NOTIFY_SOCKET): not a Unix socket' err
    stop_cron
}
