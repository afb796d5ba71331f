#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The example program that locks through the sqlite3 handle of an application.
# Runs on: once

@test "a lock on an application's sqlite3" {
    file=${ROWLOCK_TEST_SQLITE#sqlite:}
    "$ROWLOCK_TEST_BIN/examples/lock_sqlite" "$file"
    "$ROWLOCK_TEST_BIN/examples/lock_sqlite" "$file"
    [ "$(sqlite3 "$file" 'SELECT handled FROM bond')" = 2 ]
}
