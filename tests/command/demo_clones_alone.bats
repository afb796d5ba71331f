#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# demo clones as a person sees it, on a database of its own: the picture, the terminal, ^C.
# Runs on: sqlite/native
# Quick: never

load lib
load terminal.bash

setup_file() { :; } # nothing is installed
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir temp
    export TMPDIR=$PWD/temp
    # its processes are found by this name
    ln -s "$ROWLOCK" "$PWD/rowlock-of-clones"
    DEMO=$PWD/rowlock-of-clones
    export TERM=xterm
    unset NO_COLOR
}
teardown() {
    exec 5>&-
    end_started
    processes | xargs -r kill -s KILL 2>/dev/null || true
}

processes() { pgrep -f "^$DEMO"; }
nothing_is_left() { ! processes >processes; }
count_frozen() {
    local pid n=0
    for pid in $(processes); do
        ! grep -q '^State:[[:space:]]*T' "/proc/$pid/status" 2>/dev/null || n=$((n + 1))
    done
    echo $n
}
a_clone_is_frozen() { [ "$(count_frozen)" = 1 ] && shows "$1" '^4 '; }
shows() { grep -q -- "$2" "$1" 2>/dev/null; }

@test "no terminal: letters, a bar per clone, no escapes; no other database, nothing left" {
    ROWLOCK_URL=postgresql://nobody@127.0.0.1:1/x run -0 --separate-stderr "$DEMO" demo clones
    [ -z "$stderr" ]
    [[ $output != *$'\033'* ]]
    [ "$(grep -c '^   clone [1-5]  ' <<<"$output")" = 20 ]
    [ "$(grep -c '^   clone [1-5]  [.=~!]*M[.]*  ' <<<"$output")" = 8 ]
    [ "$(grep -c '^   clone [1-5]  [.=]*X  .*killed -9$' <<<"$output")" = 1 ]
    [ "$(grep -c '^   clone [1-5]  [.=]*~*=*![.=M]*  ' <<<"$output")" = 1 ]
    [ "$(awk 'length > 80' <<<"$output")" = "" ]
    [ -z "$(ls -A temp)" ]
    nothing_is_left
}

# ls.bats has NO_COLOR and the dumb terminal, which the same function examines.
@test "a terminal: colours, drawn while it runs" {
    script -qec "'$DEMO' demo clones" screen </dev/null >/dev/null
    shows screen $'\033\\[42m  *'
    shows screen $'\033\\[97;44m~'
    shows screen $'\033\\[5A'
    shows screen '5 mails sent'
}

@test "^C ends every process, and nothing is left" {
    at_terminal "stty cols 100 rows 50; exec '$DEMO' demo clones"
    until_true shows screen '^   clone 5'
    type_in '\003'
    ends_with 130 "$terminal"
    until_true nothing_is_left
    [ -z "$(ls -A temp)" ]
}

@test "a signal while a clone is frozen also ends that clone" {
    NO_COLOR=1 start "$DEMO" demo clones --ttl 6s
    until_true a_clone_is_frozen out
    end_by_term "$started"
    nothing_is_left
    [ -z "$(ls -A temp)" ]
    [ ! -s err ]
}

@test "if it is killed, none of its processes stays, not even a frozen one" {
    start "$DEMO" demo clones --ttl 6s
    until_true a_clone_is_frozen out
    kill -s KILL "$started"
    until_true nothing_is_left
}

@test "impossible arguments are refused" {
    run -64 "$DEMO" demo cloness
    [[ $output == *"'cloness' is not a demonstration"* ]]
    run -64 "$DEMO" demo clone 3 0
    [[ $output == *"'clone' is not a demonstration"* ]]
    # shellcheck disable=SC2086 # words
    for wrong in "clones more" clone "clones --workers 2" "--ttl 2s" "clones --ttl 999ms" \
        "clones --ttl 61s"; do
        runs 64 "$DEMO" demo $wrong
    done
    TMPDIR=$PWD/nowhere run -125 "$DEMO" demo clones
    [[ $output == *"TMPDIR names another place"* ]]
    [ -z "$(ls -A temp)" ]
}
