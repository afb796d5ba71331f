#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The views for people have the same columns in the same order on every engine, except that
# PostgreSQL's key comes last. documented.bats compares the views of both servers with docs/sql.md
# and sql-mariadb.md; this test compares these pages, and the views of SQLite, with each other.
# Runs on: sqlite/native

load ../command/lib

PAGES=$(echo "$BATS_TEST_DIRNAME"/../../docs/sql{,-mariadb}.md)

@test "the columns of holders, waiters, names, jobs and subjects are the same on every engine" {
    for view in holders waiters names jobs subjects; do
        wanted=$(page_signatures $PAGES | sed -n "s/^    rowlock_$view(\(.*\))\$/\1/p")
        [ -n "$wanted" ]
        [ "$(sql "SELECT group_concat(name, ', ') FROM (SELECT name
                  FROM pragma_table_info('rowlock_$view') ORDER BY cid)")" = "$wanted" ]
        case $view in holders | waiters | names) wanted+=', key' ;; esac
        page_signatures $PAGES | grep -qFx "    rowlock.$view($wanted)"
    done
}
