#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Runs the SQL on docs/coming-from/*.md, and the program in Python, for PostgreSQL and MariaDB.
# Runs on: postgresql/native mariadb/row
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
    block 'article 3:' | client | tail -n 1 | grep -qx '[0-9][0-9]*'
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

@test "django-pglock: the number of a name is that of its lock, with technique native" {
    [ "$ROWLOCK_TEST_ENGINE/$ROWLOCK_TEST_TECHNIQUE" = postgresql/native ] || return 0
    key=$(block 'django-pglock: the number' | client)
    locked() { sql "SELECT pg_try_advisory_xact_lock($key)"; }
    [ "$(locked)" = t ]
    hold billing
    [ "$(locked)" = f ]
    let_go
}

@test "redis-py: the program holds the lease while it works, and reports a busy name" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    block 'redis-py: with' | sed 's/wait=60/wait=0/; s/print(part)/print(part, lease.token)/' \
        >one.py
    export PYTHONPATH=$BATS_TEST_DIRNAME/../../clients/python/src PYTHONDONTWRITEBYTECODE=1
    run -0 /usr/bin/python3 one.py "$ROWLOCK_TEST_URL"
    [[ $output == "bonds "*$'\n'"shares "* ]]
    token=$("$ROWLOCK" acquire --ttl 60s import)
    run -1 /usr/bin/python3 one.py "$ROWLOCK_TEST_URL"
    [[ $output == *"rowlock.Busy: "* ]]
    "$ROWLOCK" release import --token "$token"
}
