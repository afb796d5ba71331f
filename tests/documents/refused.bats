#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Documents and options that the loader refuses, and its messages.

load lib

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    export ROWLOCK_TEST_URL=sqlite:$PWD/documents.db ROWLOCK_TEST_ENGINE=sqlite
}

@test "refused documents are named with the reason, the others are loaded, the exit status is 0" {
    mkdir -p in/deeper
    put in/good A 2014-01-15T10:00:00Z
    put in/deeper/good B 2014-01-15T10:00:00Z
    put in/long "$(printf 'x%.0s' {1..245})" 2014-01-15T10:00:00Z
    put in/noon C noon
    put in/leap C 2013-02-29T10:00:00Z
    put in/blank '  ' 2014-01-15T10:00:00Z
    echo '<trade><id>D</id></trade>' >in/timeless
    echo '<trade><at>2014-01-15T10:00:00Z</at></trade>' >in/nameless
    echo '<trade><id>E</id><at>2014-01-15T10:00:00Z</at>' >in/unfinished
    : >in/empty
    head -c 9000000 /dev/zero | tr '\0' ' ' >in/huge
    run -0 loader --id id --time at --verify in
    [ "$(number read)" = 11 ]
    [ "$(number created)" = 2 ]
    [ "$(number refused)" = 9 ]
    [ "$(number verified)" = 2 ]
    cat documents-refused.txt
    [ "$(wc -l <documents-refused.txt)" = 9 ]
    grep -qxF "in/long	id: longer than 244 bytes" documents-refused.txt
    grep -qxF 'in/noon	at: "noon": not YYYY-MM-DDThh:mm:ss' documents-refused.txt
    grep -qxF 'in/leap	at: "2013-02-29T10:00:00Z": no such date' documents-refused.txt
    grep -qxF "in/blank	id: empty" documents-refused.txt
    grep -qxF "in/timeless	at: no such element" documents-refused.txt
    grep -qxF "in/nameless	id: no such element" documents-refused.txt
    grep -q "^in/unfinished	not well-formed XML: " documents-refused.txt
    grep -q "^in/empty	not well-formed XML: " documents-refused.txt
    grep -qxF "in/huge	longer than 8 MiB" documents-refused.txt
}

@test "the report goes to the file of --report, and no name can forge a line of it" {
    mkdir in
    echo nothing >"in/$(printf 'two\nlines')"
    run -0 loader --id id --time at --report other.txt in
    [ ! -e documents-refused.txt ]
    [ "$(wc -l <other.txt)" = 1 ]
    grep -qF 'in/two\x0alines' other.txt
}

@test "folders are read recursively, links followed, and no folder is read twice" {
    mkdir -p in/a/b/c other
    put in/a/b/c/one A 2014-01-15T10:00:00Z
    put other/two B 2014-01-15T10:00:00Z
    ln -s ../other/two in/two
    ln -s .. in/a/loop
    mkfifo in/pipe
    run -0 loader --id id --time at --verify in other
    [ "$(number read)" = 3 ]
    [ "$(number created)" = 2 ]
    [ "$(number older)" = 1 ]
}

@test "many files and several workers: each is read once" {
    mkdir in
    for n in {1..700}; do put "in/$n" "$((n % 50))" "2014-01-15T10:00:00.${n}Z"; done
    run -0 loader --id id --time at --workers 5 --verify in
    [ "$(number read)" = 700 ]
    [ "$(number verified)" = 50 ]
}

@test "a file that cannot be read is work left undone" {
    mkdir in
    put in/good A 2014-01-15T10:00:00Z
    run -1 loader --id id --time at in /dev/null
    [ "$(number created)" = 1 ]
    [ "$(number undone)" = 1 ]
    [[ $output == *"/dev/null: left undone"* ]]
}

@test "two documents with one id and time: the first one stays" {
    mkdir in
    put in/one A 2014-01-15T10:00:00Z one
    put in/two A 2014-01-15T10:00:00.0000009Z two
    run -0 loader --id id --time at --verify in
    [ "$(number created)" = 1 ]
    [ "$(number older)" = 1 ]
}

@test "a missing database: reported at once, without the password, exit status 1" {
    case " ${DRIVERS:-} " in
    *' postgresql '*) url=postgresql://me:hunter2@127.0.0.1:1/nowhere ;;
    *) url=sqlite:/nowhere/at/all.db ;;
    esac
    run -1 "$ROWLOCK_TEST_BIN/examples/documents" --db "$url" --generate 1
    [[ $output == documents:* ]]
    [[ $output != *hunter2* ]]
}

@test "usage: exit status 64 and a message" {
    run -64 loader --id id --time at
    run -64 loader --id id .
    run -64 loader --id id --time at /not/there
    run -64 loader --generate 0
    run -64 loader --generate 1 --workers 0
    run -64 env -u ROWLOCK_URL "$ROWLOCK_TEST_BIN/examples/documents" --generate 1
    run -0 "$ROWLOCK_TEST_BIN/examples/documents" --help
}
