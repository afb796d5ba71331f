#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The document loader on every engine and technique: the expected contents of the table afterwards.
# Runs on: sqlite postgresql mariadb
# Quick: sqlite/native

load lib

@test "several loaders that start concurrently on an empty database create one table" {
    pids=()
    for n in 1 2 3; do
        "$ROWLOCK_TEST_BIN/examples/documents" --db "$ROWLOCK_TEST_URL" --workers 2 \
            --generate 600 --report "refused-$n" >"summary-$n" 3>&- &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid"; done
    created=$(cat summary-? | awk '/^created/ { n += $2 } END { print n }')
    [ "$created" = "$(rows)" ]
    run -0 loader --generate 600 --verify
    [ "$(number older)" = 600 ]
    [ "$(number verified)" = "$created" ]
    [ "$(number differs)" = 0 ]
}

@test "every document is read once, and the table has the newest version of each id" {
    run -0 loader --empty --generate 5000 --workers 4 --verify
    [ "$(number read)" = 5000 ]
    [ "$(number created)" = "$(rows)" ]
    [ $(($(number created) + $(number updated) + $(number older))) = 5000 ]
    [ "$(number refused)" = 0 ]
    [ "$(number undone)" = 0 ]
    [ "$(number differs)" = 0 ]
    [ "$(number documents/s)" -gt 0 ]
}

@test "a newer time replaces, the same or an older one does not, in any time zone" {
    mkdir one two three
    put one/a A 2014-01-15T10:00:00+02:00
    run loader --empty --id id --time at --verify one
    [ "$status" = 0 ]
    [ "$(number created)" = 1 ]
    put two/a A 2014-01-15T08:00:00Z other
    put two/b A 2014-01-15T09:59:59.999999+02:00
    run loader --id id --time at two
    [ "$status" = 0 ]
    [ "$(number older)" = 2 ]
    put three/a A 2014-01-15T08:00:00.000001
    run loader --id id --time at --verify one two three
    [ "$status" = 0 ]
    [ "$(number older)" = 3 ]
    [ "$(number updated)" = 1 ]
    [ "$(rows)" = 1 ]
}

@test "ids are compared byte for byte" {
    mkdir in
    put in/1 Trade 2014-01-15T10:00:00Z
    put in/2 trade 2014-01-15T10:00:01Z
    put in/3 tradé 2014-01-15T10:00:02Z
    put in/4 "$(printf 'x%.0s' {1..244})" 2014-01-15T10:00:03Z
    put in/5 "$(printf 'x%.0s' {1..243})" 0001-01-01T00:00:00Z
    put in/6 "'; DROP TABLE document; --" 9999-12-31T23:59:59.999999Z
    run -0 loader --empty --id id --time at --verify in
    [ "$(number created)" = 6 ]
    [ "$(number verified)" = 6 ]
}

@test "without the lock all documents are still read, with it no update is lost" {
    run -0 loader --empty --generate 2000 --no-lock --workers 2
    [ "$(number read)" = 2000 ]
}

@test "--verify names the differences" {
    run -0 loader --empty --generate 200 --verify
    id=$(sql 'SELECT min(id) FROM document')
    sql "UPDATE document SET body = 'other' WHERE id = '$id'"
    run -1 loader --generate 200 --verify
    [ "$(number differs)" = 1 ]
    [[ $output == *"$id: holds another body"* ]]
}

@test "Ctrl-C ends cleanly: committed rows stay and agree with the summary" {
    start_loader --generate 1000000000 --workers 3
    await_rows 50
    kill -INT "$loader_pid"
    ends_with 1 "$loader_pid"
    output=$(cat summary)
    [ "$(number created)" = "$(rows)" ]
    [ $(($(number read) + $(number undone))) = 1000000000 ]
    grep -q interrupted messages
}

@test "TERM ends it like Ctrl-C, also a worker's wait for a lock" {
    start_loader --generate 1000000000 --workers 6
    await_rows 50
    kill -TERM "$loader_pid"
    ends_with 1 "$loader_pid"
}

@test "a loader that is killed loses no document: the next one finishes the work" {
    start_loader --generate 8000 --workers 3
    await_rows 100
    kill -KILL "$loader_pid"
    ends_with 137 "$loader_pid"
    run -0 loader --generate 8000 --workers 3 --verify
    [ "$(number read)" = 8000 ]
    [ "$(number older)" -ge 100 ] # those that were committed
    [ "$(number undone)" = 0 ]
    [ "$(number differs)" = 0 ]
}
