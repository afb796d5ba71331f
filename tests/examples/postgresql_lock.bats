#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The example program that locks through the PGconn of an application.
# Runs on: once

@test "a lock on an application's PGconn" {
    "$ROWLOCK_TEST_BIN/rowlock" --db "$ROWLOCK_TEST_POSTGRESQL" schema install
    run -0 "$ROWLOCK_TEST_BIN/examples/lock_postgresql" "$ROWLOCK_TEST_POSTGRESQL"
    [[ $output == *"is locked until"*"unlocked"* ]]
}
