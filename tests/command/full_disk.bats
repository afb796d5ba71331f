#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A file system that is full, simulated by a limit on the size of files; and a reader that has
# ended.
# Runs on: sqlite/native

load lib

kept=$'one\ntwo'
names() { rowlock --json ls | tr '{' '\n' | sed -n 's/.*"name": *"\([^"]*\)".*/\1/p' | sort; }
fill() { # acquires leases, each with a KiB of data, until one is refused
    local i
    ulimit -f 100
    for i in $(seq 1 500); do
        rowlock acquire --ttl 1h -n --note "$(printf '%01000d' "$i")" "fill:$i" >>taken 2>refused \
            || return
    done
}

@test "a full disk: a clear error, and earlier grants stay" {
    one=$(rowlock acquire --ttl 1h one)
    rowlock acquire --ttl 1h two
    status=0
    (fill) || status=$?
    [ "$status" = 125 ]
    grep -q 'disk' refused
    grep -q 'ulimit -f' refused
    [ "$(names | grep -v fill)" = "$kept" ]
    [ "$(names | grep -c fill)" = "$(grep -c . taken)" ] # the refused caller holds nothing
    rowlock check one --token "$one"
    rowlock acquire --ttl 1h -n three # space is free again
    [ "$(names | grep -v fill)" = $'one\nthree\ntwo' ]
}

@test "under run the command meets the limit as it would without rowlock" {
    (
        ulimit -f 1000
        run rowlock run big -- sh -c 'head -c 3000000 /dev/zero >big'
        expected=0
        head -c 3000000 /dev/zero >small 2>/dev/null || expected=$?
        [ "$expected" -gt 128 ]
        [ "$status" = "$expected" ]
    )
}

@test "a reader that has ended: an error, or the usual end by SIGPIPE" {
    for name in $(seq 1 5); do rowlock acquire --ttl 1h "pipe:$name" >>tokens; done
    run -125 bash -c "'$ROWLOCK' --db '$ROWLOCK_TEST_URL' ls >/dev/full"
    [[ $output == *"standard output"* ]]
    run bash -c "'$ROWLOCK' --db '$ROWLOCK_TEST_URL' ls | true; exit \${PIPESTATUS[0]}"
    [ "$status" = 0 ] || [ "$status" = 141 ]
}
