#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The example program that locks two names in one transaction.
# Runs on: sqlite postgresql mariadb
# Quick: first

@test "two locks in one transaction" {
    "$ROWLOCK_TEST_BIN/rowlock" --db "$ROWLOCK_TEST_URL" schema install \
        --technique "$ROWLOCK_TEST_TECHNIQUE"
    run -0 "$ROWLOCK_TEST_BIN/examples/two_locks" "$ROWLOCK_TEST_URL"
    [[ $output == *"both unlocked"* ]]
}
