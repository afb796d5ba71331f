#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# -w while the database does not answer: a proxy falls silent before some answer, or on request. The
# measure of time is another rowlock with a longer -w, which cannot even connect: it must still be
# waiting then, though giving up a statement takes longer.
# Runs on: postgresql/native mariadb/row
# Quick: never

load lib
load run.bash

setup_file() { install_technique; }

# Forwards N answers, counted over all connections, and no more; while stopped, it swallows
# everything.
proxy='use IO::Socket::INET; use IO::Select; my ($to, $left, $port) = @ARGV;
    my $listen = IO::Socket::INET->new(Listen => 9, LocalAddr => "127.0.0.1") or die;
    my ($select, %peer, %server) = IO::Select->new($listen);
    open my $p, ">", "$port.tmp"; print $p $listen->sockport; close $p; rename "$port.tmp", $port;
    for (;;) {
        for my $from ($select->can_read) {
            if ($from == $listen) {
                my $in = $listen->accept; my $out = IO::Socket::INET->new($to) or die;
                ($peer{$in}, $peer{$out}, $server{$out}) = ($out, $in, 1); $select->add($in, $out);
                next;
            }
            my $got = sysread $from, my $data, 65536;
            if ($got) { syswrite $peer{$from}, $data if !$server{$from} || $left-- > 0; next }
            $select->remove($from, $peer{$from}); shutdown $peer{$from}, 2; shutdown $from, 2;
        }
    }'
start_proxy() { # FILE ANSWERS: sets proxy_url
    local rest=${ROWLOCK_TEST_URL##*@} scheme=${ROWLOCK_TEST_URL%@*}
    start perl -e "$proxy" "${rest%%/*}" "$2" "$1"
    proxy_pid=$started
    until_true is_there "$1"
    proxy_url="$scheme@127.0.0.1:$(cat "$1")/${rest#*/}"
}

start_measure() { # SECONDS
    start "$ROWLOCK" --db "$proxy_url" acquire -w "$1" --ttl 60s measure
    measure=$started
}
is_still_measured() { ! is_gone "$measure"; }

@test "-w ends soon after its time, whichever answer of the database is the first to be missing" {
    for answers in {0..15}; do
        start_proxy "port$answers" "$answers"
        start "$ROWLOCK" --db "$proxy_url" acquire -w 1 --ttl 60s "a$answers"
        waiting[answers]=$started
    done
    start_proxy measuring 0
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
    start_proxy port 1000000
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
    start_proxy port 1000000
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
