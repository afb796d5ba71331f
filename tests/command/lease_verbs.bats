#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# acquire, check, renew, release: a script's lease.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: sqlite/native
# Rest: sqlite/native

# shellcheck disable=SC2086 # lists of words
load lib

# ---- acquire -----------------------------------------------------------------------------------

@test "p1 acquire prints a token, and no other caller gets the name" {
    token=$(rowlock acquire --ttl 1m --note 'ask Ann' one)
    [[ $token =~ ^[1-9][0-9]*$ ]]
    run -75 rowlock acquire -n --ttl 1m one
    [[ $output == *"'one'"*"ask Ann"* ]]
    run -75 rowlock acquire -n -s --ttl 1m one
    run -3 rowlock acquire -n -E 3 --ttl 1m one
    run -75 rowlock acquire -w 2 --ttl 1m one
    rowlock release one --token "$token"
}

@test "with --json it prints an object" {
    rowlock --json acquire --ttl 1m object >one
    [ "$(wc -l <one)" = 1 ]
    [ "$(json '$.name' <one)" = object ]
    [[ $(json '$.token' <one) =~ ^[1-9][0-9]*$ ]]
    [[ $(json '$.owner' <one) =~ ^[0-9a-f]{32}$ ]]
    [[ $(json '$.expires' <one) =~ ^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z$ ]]
    rowlock acquire --ttl 1m several.a several.b --json >two
    [ "$(json '$.name[0]' <two)/$(json '$.name[1]' <two)" = several.a/several.b ]
    rowlock release several.b --token "$(json '$.token' <two)" # of both
    is_free several.a
}

@test "p6: a signal while waiting withdraws, and ends the command by that signal" {
    for signal in INT TERM HUP; do
        rowlock acquire --ttl 1m "stop$signal"
        start_rowlock acquire --ttl 1m "stop$signal"
        until_true is_waited_for "stop$signal"
        kill -s "$signal" "$started"
        ends_with $((128 + $(kill -l "$signal"))) "$started"
        nobody_waits_for "stop$signal"
        [ ! -s out ]
    done
}

# ---- check -------------------------------------------------------------------------------------

@test "check: 0 valid, 1 not" {
    token=$(rowlock acquire --ttl 1m checked)
    run -0 rowlock check checked --token "$token"
    [[ $output == "valid, "*" s left" ]]
    rowlock --json check checked --token "$token" >one
    [ "$(json '$.valid' <one)" = 1 ]
    left=$(json '$.left_ms' <one)
    [ "$left" -gt 0 ]
    [ "$left" -le 60000 ]
    run -1 rowlock check checked --token $((token + 1))
    run -1 rowlock check unchecked --token "$token"
    rowlock release checked --token "$token"
    run -1 rowlock check checked --token "$token"
    [[ $output == *"'checked'"* ]]
    run -1 rowlock --json check checked --token "$token"
    [ "$(json '$.valid' <<<"$output")" = 0 ]
}

@test "after a release check and renew do not report that work overlaps" {
    token=$(rowlock acquire --ttl 1m ended)
    rowlock release ended --token "$token"
    for verb in check renew; do
        run ! rowlock "$verb" ended --token "$token"
        [[ $output == \
            *"it was released, or has expired or was broken; if it was not released, "*"stop it"* ]]
    done
    token=$(rowlock acquire --ttl 1m ended)
    rowlock break ended
    for verb in check renew; do
        run ! rowlock "$verb" ended --token "$token"
        [[ $output == *"broken lease"*"may overlap with another holder's, stop it"* ]]
        [[ $output != *"it was released"* ]]
    done
    run -123 rowlock renew ended --token 1 --ttl 5m
    [[ $output == *"stop it"*"'rowlock ls ended'"* ]]
}

# ---- renew -------------------------------------------------------------------------------------

@test "renew prolongs, and never shortens" {
    token=$(rowlock acquire --ttl 1m longer)
    before=$(item longer '$[0].expires')
    rowlock renew longer --token "$token" --ttl 5m
    after=$(item longer '$[0].expires')
    [[ $after > $before ]]
    rowlock renew longer --token "$token" --ttl 1s
    rowlock renew longer --token "$token"
    [ "$(item longer '$[0].expires')" = "$after" ]
    rowlock --json renew longer --token "$token" --ttl 10m >one
    [ "$(json '$.token' <one)" = "$token" ]
    [[ $(json '$.expires' <one) > $after ]]
}

# ---- standard output ---------------------------------------------------------------------------

@test "output that cannot be printed is an error, of every verb" {
    for verb in "ls" "ls --json" "ls free --json" "jobs --json" "subjects --json" "vacuum" \
        "schema print sqlite" \
        "help" "--help" "ls --help" "--version"; do
        exits 125 rowlock $verb >/dev/full 2>said
        grep -q "cannot write to standard output" said
    done
    token=$(rowlock acquire --ttl 1m printed)
    exits 125 rowlock check printed --token "$token" >&- 2>said
    exits 125 rowlock check --json printed --token "$token" >/dev/full 2>said
    exits 125 rowlock renew --json printed --token "$token" >/dev/full 2>said
    exits 125 rowlock ls >&- 2>said
    grep -q "cannot write to standard output: Bad file descriptor" said
}

@test "a verb that prints a token acquires no lease when standard output is closed" {
    for verb in "acquire --ttl 1h" "hold --for 1h --note x"; do
        exits 125 rowlock $verb silent >&- 2>said
        grep -q "standard output has no reader: nothing was done" said
        is_free silent
        exits 125 rowlock $verb silent >/dev/full 2>said
        is_free silent
    done
}

@test "a connection never uses the number of a closed standard descriptor" {
    token=$(rowlock acquire --ttl 1m x)
    exits 0 rowlock release x --token "$token" <&- >&- 2>&-
    exits 123 rowlock release x --token 1 <&- >&- 2>&- # the error cannot be printed
    exits 1 rowlock check x --token 1 <&- 2>&-
    rowlock run y -- sh -c 'exec >seen
        for fd in 0 2; do [ -e /proc/self/fd/$fd ] && echo $fd; done; true' <&- 2>&-
    [ ! -s seen ] # and it is also closed for the command
}

# ---- release -----------------------------------------------------------------------------------

@test "release: 0, and 123 if it was lost" {
    token=$(rowlock acquire --ttl 1m freed)
    run -0 rowlock release freed --token "$token"
    [ -z "$output" ]
    is_free freed
    run -123 rowlock release freed --token "$token"
    reason="is not (or no longer) that of a lease of 'freed': 'rowlock ls freed' shows what"
    [[ $output == "rowlock: token $token $reason there is; if it was not released"* ]]
    [[ $output != *"stop"* ]]
}
