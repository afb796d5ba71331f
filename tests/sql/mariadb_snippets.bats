#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The programs on docs/sql-programs.md run against a server, while another session holds the name;
# and that of docs/sql-jobs.md.
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

@test "a job from Python is performed once, and a failure is recorded" {
    create_bond
    # otherwise it may become due between two calls
    sed 's/every 5m/every 50w/' "$SNIPPETS/mariadb_job.py" >job.py
    (run_py job.py) >said
    says 'prices are refreshed'
    (run_py job.py) >said
    says 'waiting: call again in [0-9]* ms'
    [ "$(handled)" = 1 ]
    sql "DROP TABLE bond"
    rowlock jobs --now prices
    run -1 run_py job.py
    [[ $output == *"1146"* ]]
    [ "$(rowlock --json jobs prices | jq -r '[.[0].history[].outcome] | join(" ")')" = \
        'failed done' ]
    rowlock jobs prices | grep "bond' doesn't exist"
    is_free job:prices
}
