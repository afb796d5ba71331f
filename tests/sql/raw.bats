#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The first article's two statements, by hand and by a program that does not use rowlock, on the
# article's own table: they and `rowlock run` exclude each other.
# Runs on: postgresql/insert mariadb/insert

load ../command/lib
load raw.bash

setup_file() { install_on_the_article_s_table; }
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    programs="client python"
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || programs=client
}

@test "p1 rowlock run waits for the two statements: in a transaction, and with a lease" {
    for program in $programs; do
        raw_begin "$program"
        until_true raw_says locked
        for kind in --tx --exclusive; do
            run -75 rowlock run $kind -n "$NAME" -- touch passed
        done
        start_rowlock run --tx -w 60 "$NAME" -- touch passed
        transaction=$started
        until_true is_waited_for_by 1
        start_rowlock run -w 60 "$NAME" -- touch passed-too
        lease=$started
        until_true is_waited_for_by 2
        [ ! -e passed ]
        [ ! -e passed-too ]
        raw_commit
        wait "$transaction"
        wait "$lease"
        [ -e passed ]
        [ -e passed-too ]
        rm passed passed-too
    done
}

@test "p1 the two statements wait for rowlock run --tx" {
    for program in $programs; do
        hold "$NAME"
        raw_begin "$program"
        until_true is_waited_for_by 1
        run ! raw_says locked
        let_go
        until_true raw_says locked
        run -75 rowlock run --tx -n "$NAME" -- true
        raw_commit
    done
}

# In a trigger of MariaDB all reads use the snapshot of the statement's begin, so the lease would
# never end for it; and a locking read would block the release that it waits for.
# postgresql_old_programs.bats has the programs that wait for leases on PostgreSQL.
@test "MariaDB: a lease does not block a program that only uses the two statements" {
    [ "$ROWLOCK_TEST_ENGINE" = mariadb ] || return 0
    token=$(rowlock acquire --ttl 10m "$NAME")
    raw_begin client
    until_true raw_says locked
    raw_commit
    rowlock release "$NAME" --token "$token"
    [ "$(sql "SELECT count(*) FROM businessobjectlock")" = 0 ]
}
