#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Runs the SQL on docs/coming-from.md, for PostgreSQL and MariaDB.
# Runs on: postgresql/row mariadb/row
# Quick: never

load coming_from.bash

client() { # reads statements
    case $ROWLOCK_TEST_ENGINE in
    postgresql) psql -qXAt -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_URL" ;;
    mariadb) as_root_of_mariadb -N -B "${ROWLOCK_TEST_URL##*/}" ;;
    esac
}

@test "articles: keys that are numbers" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    block 'article 3:' | client | tail -n 1 >removed
    grep -qx '[0-9]*' removed
    [ "$(sql "SELECT count(*) FROM rowlock.name WHERE name = '1'")" = 0 ]
}

# COMMENT TIMEOUT TRY GOT NOT: the block's lock is acquired, and not if another session has it
locks_or_not() {
    [ "$(block "$1" | client | grep .)" = "$4" ]
    hold billing
    block "$1" | sed "s/$2/$3/" | client >got
    let_go
    [ "$(grep . got)" = "$5" ]
}

@test "DBMS_LOCK, sp_getapplock: in a transaction; not if another session has the lock" {
    case $ROWLOCK_TEST_ENGINE in
    postgresql) locks_or_not 'DBMS_LOCK, release_on_commit => TRUE' '10 s' '1 ms' t f ;;
    mariadb) locks_or_not "sp_getapplock, @LockOwner = 'Transaction'" 10000 0 1 0 ;;
    esac
}
