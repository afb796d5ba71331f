#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a package must be able to do, by a shell alone: the command locks, refuses, queues, fences,
# runs a job once, and shows all of it. Part of `make smoke`.
# Runs on: sqlite/native
set -u
cd "$ROWLOCK_TEST_TEMP" || exit 125
number=0 bad=0
check() { # WHAT COMMAND...: the command succeeds
    local what=$1
    shift
    number=$((number + 1))
    if "$@" >out 2>&1; then
        echo "ok $number - $what"
    else
        bad=1
        echo "not ok $number - $what"
        sed 's/^/# /' out
    fi
}
rowlock() { "$ROWLOCK_TEST_BIN/rowlock" --db "$ROWLOCK_TEST_SQLITE" "$@"; }
exits() { # STATUS COMMAND...
    local status=$1
    shift
    "$@"
    [ $? = "$status" ]
}
prints() { # TEXT COMMAND...
    local text=$1
    shift
    [[ $("$@" 2>&1) == *"$text"* ]]
}

check "the version" prints "rowlock " "$ROWLOCK_TEST_BIN/rowlock" --version
check "the drivers are built in" prints sqlite "$ROWLOCK_TEST_BIN/rowlock" --version
check "install" rowlock schema install
check "p1 a command runs under its lock" prints done rowlock run backup -- echo done
check "the exit status is the command's" exits 7 rowlock run backup -- sh -c 'exit 7'
token=$(rowlock acquire --ttl 5m night)
check "p1 a lock that is held is refused" exits 75 rowlock run -n night -- true
check "the refusal names it" prints night rowlock run -n night -- true
check "ls shows the holder" prints night rowlock ls
check "p4 the fence accepts the holder" rowlock check night --token "$token"
check "release" rowlock release night --token "$token"
check "p3 the next token is greater" [ "$(rowlock acquire --ttl 5m night)" -gt "${token:-999999}" ]
check "p4 the fence refuses the former holder" exits 1 rowlock check night --token "$token"
check "a job runs when it is due" prints ran rowlock job nightly --every 3650d -- echo ran
check "and not before it is due again" rowlock job nightly --every 3650d -- false
check "jobs shows it" prints nightly rowlock jobs
check "the shared library loads" ldd "$ROWLOCK_TEST_BIN/librowlock.so"
echo "1..$number"
exit $bad
