#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The example program that locks through the MYSQL handle of an application.
# Runs on: once

@test "a lock on an application's MYSQL" {
    "$ROWLOCK_TEST_BIN/rowlock" --db "$ROWLOCK_TEST_MARIADB" schema install
    run -0 "$ROWLOCK_TEST_BIN/examples/lock_mariadb" "$ROWLOCK_TEST_MARIADB_SOCKET/socket" root \
        "${ROWLOCK_TEST_MARIADB##*/}"
    [[ $output == *"is locked until"*"unlocked"* ]]
}
