#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A limitation on MariaDB: the first article's two statements cannot wait for a lease there. In a
# trigger all reads use the snapshot of the statement's begin, so the lease would never end for it;
# and a locking read would block the release that it waits for.
# Runs on: mariadb/insert

load ../command/lib
load raw.bash

setup_file() { install_on_the_article_s_table; }

@test "a lease does not block a program that only uses the two statements; run --tx does" {
    hold_lease "$NAME"
    raw_begin client
    until_true raw_says locked
    raw_commit
    let_go
}
