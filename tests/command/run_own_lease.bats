#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# run: the command locks its own name in transactions, with the token of its lease.
# Runs on: sqlite postgresql mariadb
# Quick: first

load lib
load run.bash

own_lease=$ROWLOCK_TEST_BIN/examples/own_lease
# Reads all, then writes all: two at the same time would lose one line.
# shellcheck disable=SC2016
add='n=$(cat number); echo "$((n + 1))" >number'

@test "p1: two children of one run lock its name in own transactions: 30 additions are exact" {
    echo 0 >number
    # shellcheck disable=SC2016
    leased a -- sh -c '"$0" "$1" a 15 "$2" & one=$!
        "$0" "$1" a 15 "$2" & two=$!
        wait "$one" && wait "$two"' "$own_lease" "$ROWLOCK_TEST_URL" "$add"
    [ "$(cat number)" = 30 ]
    is_free a
}

@test "a token whose lease has ended locks nothing" {
    echo 0 >number
    # shellcheck disable=SC2016
    leased a -- sh -c 'echo "$ROWLOCK_TOKEN" >token'
    ROWLOCK_TOKEN=$(cat token) runs 1 "$own_lease" "$ROWLOCK_TEST_URL" a 1 "$add"
    [[ $output == "lease is lost"* ]]
    [ "$(cat number)" = 0 ]
}
