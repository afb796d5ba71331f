#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# acquire, check, renew, release: a script's lease.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: sqlite/native mariadb/row

bats_require_minimum_version 1.5.0
load lib

setup_file() { install_technique; }
setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# ---- acquire -----------------------------------------------------------------------------------

@test "p1 acquire prints a token, and no other caller gets the name" {
    token=$(rowlock acquire --ttl 1m --note 'ask Ann' one)
    [[ $token =~ ^[1-9][0-9]*$ ]]
    run rowlock acquire -n --ttl 1m one
    echo "$output"
    [ "$status" = 75 ]
    [[ $output == *"'one'"*"ask Ann"* ]]
    run rowlock acquire -n -s --ttl 1m one
    [ "$status" = 75 ]
    run rowlock acquire -n -E 3 --ttl 1m one
    [ "$status" = 3 ]
    run rowlock acquire -w 2 --ttl 1m one
    [ "$status" = 75 ]
    rowlock release one --token "$token"
}

@test "p3 the next token is greater" {
    first=$(rowlock acquire --ttl 1m greater)
    rowlock release greater --token "$first"
    second=$(rowlock acquire --ttl 1m greater)
    [ "$second" -gt "$first" ]
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
}

@test "several names: all or none, and released together" {
    token=$(rowlock acquire --ttl 1m both.a both.b)
    is_held both.a
    is_held both.b
    run rowlock acquire -n --ttl 1m both.c both.b
    [ "$status" = 75 ]
    is_free both.c
    rowlock release both.b --token "$token"
    is_free both.a
    is_free both.b
}

@test "p1 shared together, exclusive alone" {
    one=$(rowlock acquire -s --ttl 1m shared)
    two=$(rowlock acquire -s -n --ttl 1m shared)
    run rowlock acquire -n --ttl 1m shared
    [ "$status" = 75 ]
    rowlock release shared --token "$one"
    rowlock release shared --token "$two"
    rowlock acquire -x -n --ttl 1m shared
}

@test "p1 permits: as many as the limit says, and one limit" {
    rowlock acquire -n --limit 2 --ttl 1m permits
    rowlock acquire -n --limit 2 --ttl 1m permits
    run rowlock acquire -n --limit 2 --ttl 1m permits
    [ "$status" = 75 ]
    run rowlock acquire -n --limit 3 --ttl 1m permits
    echo "$output"
    [ "$status" = 64 ]
    [[ $output == *2*3* || $output == *3*2* ]]
}

@test "a waiter is granted the lease when the holder releases" {
    token=$(rowlock acquire --ttl 1m handover)
    start "$ROWLOCK" --db "$ROWLOCK_TEST_URL" acquire --ttl 1m handover
    until_true is_waited_for handover
    rowlock release handover --token "$token"
    wait "$started"
    [ "$(item handover '$[0].token')" = "$(cat out)" ]
}

@test "a signal while waiting withdraws, and ends the command by that signal" {
    for signal in INT TERM; do
        rowlock acquire --ttl 1m "stop$signal"
        start "$ROWLOCK" --db "$ROWLOCK_TEST_URL" acquire --ttl 1m "stop$signal"
        until_true is_waited_for "stop$signal"
        kill -s "$signal" "$started"
        status=0
        wait "$started" || status=$?
        [ "$status" = $((128 + $(kill -l "$signal"))) ]
        nobody_waits_for "stop$signal"
        [ ! -s out ]
    done
}

@test "a lease whose token cannot be printed is released" {
    [ -e /dev/full ] || return 0
    run bash -c '"$0" --db "$1" acquire --ttl 1m full >/dev/full' "$ROWLOCK" "$ROWLOCK_TEST_URL"
    echo "$output"
    [ "$status" = 125 ]
    is_free full
}

@test "names differ by case, blanks and quotes" {
    for name in n N 'n ' "n'" 'n"' 'n,n' 'n\' $'n\nn' 'ñ'; do
        rowlock acquire -n --ttl 1m "$name"
    done
    [ "$(item $'n\nn' '$[0].name')" = $'n\nn' ]
    [ "$(item 'n"' '$[0].name')" = 'n"' ]
}

# ---- check -------------------------------------------------------------------------------------

@test "check: 0 valid, 1 not" {
    token=$(rowlock acquire --ttl 1m checked)
    run rowlock check checked --token "$token"
    [ "$status" = 0 ]
    [[ $output == "valid, "*" s left" ]]
    rowlock --json check checked --token "$token" >one
    [ "$(json '$.valid' <one)" = 1 ]
    left=$(json '$.left_ms' <one)
    [ "$left" -gt 0 ]
    [ "$left" -le 60000 ]
    run rowlock check checked --token $((token + 1))
    [ "$status" = 1 ]
    run rowlock check unchecked --token "$token"
    [ "$status" = 1 ]
    rowlock release checked --token "$token"
    run rowlock check checked --token "$token"
    echo "$output"
    [ "$status" = 1 ]
    [[ $output == *"'checked'"* ]]
    run rowlock --json check checked --token "$token"
    [ "$status" = 1 ]
    [ "$(json '$.valid' <<<"$output")" = 0 ]
}

@test "after a release check and renew do not report that work overlaps" {
    token=$(rowlock acquire --ttl 1m ended)
    rowlock release ended --token "$token"
    for verb in check renew; do
        run rowlock "$verb" ended --token "$token"
        echo "$output"
        [ "$status" != 0 ]
        [[ $output == \
            *"it was released, or has expired or was broken; if it was not released, "*"stop it"* ]]
    done
    token=$(rowlock acquire --ttl 1m ended)
    rowlock break ended
    for verb in check renew; do
        run rowlock "$verb" ended --token "$token"
        echo "$output"
        [ "$status" != 0 ]
        [[ $output == *"broken lease"*"may overlap with another holder's, stop it"* ]]
        [[ $output != *"it was released"* ]]
    done
}

@test "check: an expired lease is not valid" {
    token=$(rowlock acquire --ttl 1s passing)
    until_true is_free passing
    run rowlock check passing --token "$token"
    [ "$status" = 1 ]
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

@test "renew: a lost lease is not revived" {
    token=$(rowlock acquire --ttl 1m lost)
    rowlock break lost
    run rowlock renew lost --token "$token" --ttl 5m
    echo "$output"
    [ "$status" = 123 ]
    [[ $output == *"'lost'"* ]]
    run rowlock renew lost --token 1 --ttl 5m
    echo "$output"
    [ "$status" = 123 ]
    [[ $output == *"stop it"*"'rowlock ls lost'"* ]]
}

# ---- standard output ---------------------------------------------------------------------------

exits() { # STATUS COMMAND...
    local want=$1 got=0
    shift
    "$@" || got=$?
    echo "$*: $got" >>exits # standard output may be closed here
    [ "$got" = "$want" ]
}

@test "output that cannot be printed is an error, of every verb" {
    for verb in "ls" "ls --json" "ls free --json" "jobs --json" "subjects --json" "vacuum" \
        "schema print sqlite" \
        "help" "--help" "ls --help" "--version"; do
        # shellcheck disable=SC2086
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
        # shellcheck disable=SC2086
        exits 125 rowlock $verb silent >&- 2>said
        grep -q "standard output has no reader: nothing was done" said
        is_free silent
        # shellcheck disable=SC2086
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
    run rowlock release freed --token "$token"
    [ "$status" = 0 ]
    [ -z "$output" ]
    is_free freed
    run rowlock release freed --token "$token"
    echo "$output"
    [ "$status" = 123 ]
    reason="it was released already, or has ended"
    [[ $output == "rowlock: there is no lease $token of 'freed' any more: $reason"* ]]
    [[ $output != *"stop"* ]]
}

@test "release: the holder of a broken lease frees the name, and learns that it was broken" {
    token=$(rowlock acquire --ttl 1m broken)
    rowlock break broken
    is_held broken
    run rowlock release broken --token "$token"
    echo "$output"
    [ "$status" = 123 ]
    [[ $output == *broken* ]]
    is_free broken
}
