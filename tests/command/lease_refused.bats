#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# run, acquire, hold: the message and the exit status when a lease is refused.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: postgresql/native

load lib

# STATUS URL WAIT-OPTION...: runs each verb that acquires a lease; its message goes to the file VERB
refused() {
    local expected=$1 url=$2 run=0 acquire=0 hold=0
    shift 2
    rm -f run acquire hold
    "$ROWLOCK" --db "$url" run "$@" a -- touch ran 2>run || run=$?
    "$ROWLOCK" --db "$url" acquire "$@" --ttl 1m a >token 2>acquire || acquire=$?
    "$ROWLOCK" --db "$url" hold "$@" --for 1m --note why a >>token 2>hold || hold=$?
    head run acquire hold
    [ "$run/$acquire/$hold" = "$expected/$expected/$expected" ]
    [ ! -e ran ]
    [ ! -s token ]
    for verb in run acquire hold; do grep -q '^rowlock: ' "$verb"; done
}

# ---- busy --------------------------------------------------------------------------------------

@test "75: the holder, since when, and how many wait" {
    token=$(rowlock acquire --ttl 5m --note 'ask Ann' a)
    refused 75 "$ROWLOCK_TEST_URL" -n
    run ! grep -q waiting run acquire hold
    for waiting in 1 2; do
        start_rowlock run -w 600 a -- true
        until_true says_waiting $waiting
    done
    rowlock release a --token "$token"
    wait "${all_started[@]}"
}
says_waiting() { # COUNT: each verb reports it
    refused 75 "$ROWLOCK_TEST_URL" -n || return 1
    local time='20[0-9-]* [0-9:]* +0000' verb
    for verb in run acquire hold; do
        grep -q \
            "^rowlock: 'a' is held by .*since $time, expires $time, .*ask Ann.* $1 waiting" $verb ||
            return 1
    done
}

@test "-q: no output for a busy lock, only the status; errors still print" {
    token=$(rowlock acquire --ttl 5m quiet)
    for options in "-n -q" "--quiet -w 1"; do
        for verb in run "acquire --ttl 1m" "hold --for 1m --note why"; do
            # shellcheck disable=SC2086
            runs 75 rowlock $verb $options quiet $([ "$verb" != run ] || echo -- touch ran)
            [ -z "$output" ]
        done
    done
    run rowlock run -n -q -E 0 quiet -- touch ran
    [ "$status/$output" = 0/ ]
    [ ! -e ran ]
    rowlock release quiet --token "$token"
    run -127 rowlock run -n -q quiet -- no-such-command
    [[ $output == *"command not found"* ]]
    run -64 rowlock run -n -q --limit 2 "" -- true
    [[ $output == *"empty"* ]]
    run -69 "$ROWLOCK" --db "postgresql://somebody@127.0.0.1:1/x" run -n -q quiet -- true
    [ -n "$output" ]
}

# ---- no database -------------------------------------------------------------------------------

@test "69: no server listens there" {
    case $ROWLOCK_TEST_ENGINE in
    sqlite) url=sqlite:$PWD/no/folder/x.db ;;
    *) url=$ROWLOCK_TEST_ENGINE://somebody@127.0.0.1:1/x ;;
    esac
    refused 69 "$url"
    refused 69 "$url" -n
    refused 69 "$url" -w 0.2
}

@test "69: a server that hangs up; -w covers connecting, without it there is one attempt" {
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] || return 0
    start_counter
    refused 69 "$counter_url"
    once=$(calls)
    refused 69 "$counter_url" -n
    [ "$(calls)" = $((2 * once)) ]
    for verb in "run" "acquire --ttl 1m" "hold --for 1m --note why"; do
        : >calls
        command=()
        [ "$verb" != run ] || command=(-- touch ran)
        # shellcheck disable=SC2086
        run "$ROWLOCK" --db "$counter_url" $verb -w 2 a "${command[@]}"
        echo "$verb, $(calls) calls: $output"
        [ "$status" = 69 ]
        [ "$(calls)" -gt $((2 * once / 3)) ]
    done
    [ ! -e ran ]
}
