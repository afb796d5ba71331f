#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Runs the SQL for PostgreSQL on docs/coming-from.md.
# Runs on: postgresql/row
# Quick: never

load coming_from.bash

psql_block() { # COMMENT
    block "$1" | psql -qXAt -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_URL"
}

@test "articles: keys that are numbers" {
    psql_block 'article 3:' | tail -n 1 >removed
    grep -qx '[0-9]*' removed
    [ "$(sql "SELECT count(*) FROM rowlock.name WHERE name = '1'")" = 0 ]
}

@test "DBMS_LOCK: in a transaction; false if another session has the lock" {
    [ "$(psql_block 'DBMS_LOCK, release_on_commit => TRUE' | grep .)" = t ]
    hold billing
    block 'DBMS_LOCK, release_on_commit => TRUE' | sed "s/10 s/1 ms/" |
        psql -qXAt -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_URL" >got
    let_go
    [ "$(grep . got)" = f ]
}
