#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Runs the SQL for MariaDB on docs/coming-from.md.
# Runs on: mariadb/row
# Quick: never

load coming_from.bash

@test "sp_getapplock: in a transaction; 0 if another session has the lock" {
    comment="sp_getapplock, @LockOwner = 'Transaction'"
    [ "$(block "$comment" | as_root_of_mariadb -N -B "${ROWLOCK_TEST_URL##*/}")" = 1 ]
    hold billing
    block "$comment" | sed 's/10000/0/' | as_root_of_mariadb -N -B "${ROWLOCK_TEST_URL##*/}" >got
    let_go
    [ "$(cat got)" = 0 ]
}
