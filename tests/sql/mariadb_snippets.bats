#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The programs on docs/sql-programs.md run against a server, while another session holds the name.
# Runs on: mariadb/row
# Quick: never

load ../command/lib
load snippets.bash

@test "the mariadb client waits, and continues" { waits_and_goes_on mariadb_lock.sql; }
@test "Python waits, and continues" { waits_and_goes_on mariadb_lock.py; }
@test "Node waits, and continues" {
    ! is_mysql || skip "the package mysql does not know caching_sha2_password"
    waits_and_goes_on mariadb_lock.js
}
@test "Java waits, and continues" { waits_and_goes_on MariadbLock.java; }

@test "a lease from Python that waits: acquired, renewed, fenced, released" {
    waits_for_its_lease mariadb_wait.py
}
@test "a lease from Python that waits, and is broken" { learns_of_its_loss mariadb_wait.py; }
