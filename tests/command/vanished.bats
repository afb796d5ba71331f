#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A machine that is gone sends no end of its connections. The server is in a network of its own,
# whose only interface goes down; the socket in its folder still leads to it.
# sessions/dead_peer_test reads the limits themselves.
# Runs on: postgresql/native mariadb/row
# Quick: never

load lib
load run.bash
load own_server.bash

# UP COMMAND...: switches the loopback interface on (1) or off (0), and executes the command
interface='use Socket; my $up = shift;
    socket my $s, AF_INET, SOCK_DGRAM, 0 or die "socket: $!";
    my $request = pack "a16s", "lo", 0;
    ioctl $s, 0x8913, $request or die "SIOCGIFFLAGS: $!";
    my $flags = unpack "x16s", $request;
    ioctl $s, 0x8914, $request = pack "a16s", "lo", $up ? $flags | 1 : $flags & ~1
        or die "SIOCSIFFLAGS: $!";
    exec @ARGV if @ARGV'

start_apart() {
    local limits=()
    # what docs/operation.md names
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || limits=(--tcp-keepalive-time=20
        --tcp-keepalive-interval=5 --tcp-keepalive-probes=4)
    server_wrapper=(unshare --net perl -e "$interface" 1)
    start_own "${limits[@]}"
}
setup_file() {
    start_apart
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        by_socket="host=$server_socket&port=$server_port"
        export ROWLOCK_TEST_ADMIN="postgresql://postgres@/test_own?$by_socket" \
            ROWLOCK_TEST_URL="postgresql://tester@/test_own?$by_socket"
        psql -qXAt "postgresql://postgres@/postgres?$by_socket" \
            -c 'CREATE DATABASE test_own OWNER tester'
        ;;
    mariadb)
        by_socket="socket=$server_socket/socket"
        export ROWLOCK_TEST_MARIADB_SOCKET=$server_socket \
            ROWLOCK_TEST_URL="mariadb://rowlock:secret@localhost/test_own?$by_socket"
        as_root_of_mariadb -e 'CREATE DATABASE test_own'
        ;;
    esac
    export server_pid far_url="${server_url}test_own"
    rowlock schema install
}
teardown() { end_started; }
in_network() { nsenter --net="/proc/$server_pid/ns/net" "$@"; }

@test "a transaction lock is free again within a minute, and the other side reports the loss" {
    ! is_mysql || skip "MySQL has no settings for it"
    start nsenter --net="/proc/$server_pid/ns/net" "$ROWLOCK" --db "$far_url" run --tx gone -- \
        sh -c 'touch holding; exec sleep 300'
    holder=$started
    until_true is_there holding
    run -75 rowlock run --tx -n gone -- true
    in_network perl -e "$interface" 0
    rowlock run --tx -w 60s gone -- true
    status=0
    wait "$holder" || status=$?
    [ "$status" -gt 100 ]
    grep -q "the lock on 'gone' is lost" err
}
