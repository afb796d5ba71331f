#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The functions in psql and the mariadb client: their refusal, and their comments.
# sessions/interleave_test proves that their locks exclude those of the library.
# Runs on: postgresql mariadb
# Quick: first

load lib

setup_file() { install_technique; }

client() { # reads statements from its standard input, like those of a person at a terminal
    case $ROWLOCK_TEST_ENGINE in
    postgresql) psql -qXAt "$ROWLOCK_TEST_URL" ;;
    mariadb) as_root_of_mariadb -N -B --unbuffered "${ROWLOCK_TEST_URL##*/}" ;;
    esac
}

@test "a refusal by an SQL function names the lock, the holder, and the note" {
    token=$(rowlock hold --for 1m --note 'ask Ann' x)
    case $ROWLOCK_TEST_ENGINE in
    postgresql) echo "BEGIN; SET LOCAL lock_timeout = '100ms'; SELECT rowlock.exclusive('x');" >in \
        ;;
    mariadb) echo "SET innodb_lock_wait_timeout = 1; CALL rowlock_begin_exclusive('x');" >in ;;
    esac
    run client <in
    rowlock release x --token "$token"
    echo "$output"
    [[ $output == *"rowlock: "[\'\"]x[\'\"]" is held by "*"ask Ann"* ]]
}

commented() { # a client that reports its own steps
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        sql "SELECT DISTINCT 'rowlock.' || proname FROM pg_proc
             WHERE pronamespace = 'rowlock'::regnamespace
             AND obj_description(oid, 'pg_proc') NOT LIKE 'internal:%'"
        ;;
    mariadb)
        sql "SELECT routine_name FROM information_schema.routines
             WHERE routine_schema = database() AND routine_comment <> ''"
        ;;
    esac
}
@test "each public function has a comment that explains it, and the manual page lists it" {
    commented | sort >commented
    separator=.
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || separator=_
    grep -oE "^rowlock[$separator][a-z_]+\(" "$BATS_TEST_DIRNAME/../../man/verbs/schema.txt" |
        tr -d '(' | sort -u >listed
    diff listed commented
    [ "$(wc -l <listed)" -ge 8 ]
}
