#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The output of a job's command: passed through completely; its end is stored as text that every
# database accepts.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: sqlite/native

load lib
load run.bash
load job.bash

setup() { forget_jobs; }

kept() { view "$1" last_output; }

@test "standard output and error stay separate, and in order if they are one file" {
    job a "${rarely[@]}" -- sh -c 'echo out; echo err >&2; echo out again' >out 2>err
    [ "$(cat out)" = $'out\nout again' ]
    [ "$(cat err)" = err ]
    job b "${rarely[@]}" -- sh -c 'for i in 1 2 3; do echo o$i; echo e$i >&2; done' >both 2>&1
    [ "$(tr '\n' ' ' <both)" = "o1 e1 o2 e2 o3 e3 " ]
    [ "$(kept b | xargs)" = "o1 e1 o2 e2 o3 e3" ]
}

@test "all output passes through, byte for byte; its last 2 KiB are kept" {
    head -c 3000000 /dev/urandom >bytes
    job a "${rarely[@]}" -- cat bytes >out
    cmp bytes out
    job b "${rarely[@]}" -- sh -c 'seq 100000' | cmp - <(seq 100000)
    seq 100000 | tail -c 2048 >end
    [ "$(kept b)" = "$(cat end)" ]
}

@test "output that is not text is kept as text; half a character is dropped" {
    job a "${rarely[@]}" -- printf 'a\0b\377c\303\251\n' >out
    cmp out <(printf 'a\0b\377c\303\251\n')
    [ "$(kept a)" = "a?b?cé" ]
    # an e with an accent has two bytes, and the last 2048 bytes begin with the second one
    job b "${rarely[@]}" -- perl -e 'print "\xc3\xa9" x 2000, "x"' >/dev/null
    [ "$(kept b)" = "$(perl -e 'print "\xc3\xa9" x 1023, "x"')" ]
}

@test "jobs prints it without control characters, which JSON escapes" {
    job a "${rarely[@]}" -- printf 'one\033[31m\ntwo\a\n' >/dev/null
    rowlock jobs a >said
    cat -v said
    grep -qxF '  one\x1b[31m' said
    grep -qxF '  two\x07' said
    grep -qE '^[0-9:]+ .* two\\x07$' said
    run ! grep -q $'\e' said
    rowlock --json jobs a | grep -qF '"last_output":"one\u001b[31m\ntwo\u0007\n"'
}

@test "a reader that goes away does not end the command" {
    job a "${rarely[@]}" -- sh -c 'seq 100000; touch done' 2>err | head -n 1
    until_true is_there done
    until_true runs_nowhere a
    run_is a 0 outcome=done
    grep -q "cannot pass the command's output on" err
}

@test "a frozen reader delays neither renewal nor loss" {
    mkfifo fifo
    start sh -c 'exec 9<>fifo; exec "$@" >fifo' sh "$ROWLOCK" --db "$ROWLOCK_TEST_URL" job a \
        "${rarely[@]}" --ttl 6s -- bash -c "$(pid_into command); yes"
    holder=$started
    until_true is_there command
    token=$(view a running_token) expires=$(item job:a '$[0].expires')
    # the lease is renewed
    until [ "$(item job:a '$[0].expires')" != "$expires" ]; do sleep 0.05; done
    [ "$(view a running_token)" = "$token" ]
    rowlock break job:a
    ends_with 123 "$holder"
    is_gone "$(cat command)"
    run_is a 0 outcome=broken
    [ "$(view a 'last_output' | head -n 5 | tail -n 1)" = y ]
}

@test "processes that the command leaves behind delay neither job nor its pipes" {
    job a "${rarely[@]}" -- sh -c "setsid sh -c '$(pid_into daemon); exec sleep 970' &
        until [ -e daemon ]; do sleep 0.02; done; echo hi" >out 2>err
    [ "$(cat out)" = hi ]
    grep -q "1 process that the command started runs on" err
    kill -s KILL "$(cat daemon)"
}

@test "without standard descriptors" {
    job a "${rarely[@]}" -- sh -c 'echo kept; cat' <&- >&- 2>&-
    run_is a 0 outcome=done
    [ "$(kept a)" = kept ]
}

@test "the command gets the caller's other descriptors, and none of rowlock's" {
    show='find /proc/self/fd -mindepth 1 -not -lname "/proc/*" -printf "%f %l\n" |
        grep -v "^[012] "'
    sh -c "$show" >direct 7</dev/null
    job a "${rarely[@]}" -- sh -c "$show" >ours 7</dev/null
    grep -qx '7 /dev/null' ours
    diff <(sort direct) <(sort ours)
}
