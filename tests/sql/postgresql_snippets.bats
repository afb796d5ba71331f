#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The programs on docs/sql-programs.md run against a server, while another session holds the name.
# Runs on: postgresql/native
# Quick: never

load ../command/lib
load snippets.bash

@test "psql waits, and continues" { waits_and_goes_on lock.sql; }
@test "Python waits, and continues" { waits_and_goes_on lock.py; }
@test "Node waits, and continues" { waits_and_goes_on lock.js; }
@test "Java waits, and continues" { waits_and_goes_on Lock.java; }

@test "try: does something else if the name is busy, and the work if it is free" {
    create_bond
    sql 'CREATE TABLE IF NOT EXISTS later (id TEXT); DELETE FROM later;
         GRANT ALL ON later TO tester'
    hold "$NAME"
    snippet try.sql
    wait "$snippet"
    let_go
    [ "$(handled)|$(sql 'SELECT count(*) FROM later')" = '0|1' ]
    snippet try.sql
    wait "$snippet"
    [ "$(handled)|$(sql 'SELECT count(*) FROM later')" = '1|1' ]
}

@test "a lease from Python: refused while held, then acquired, renewed, fenced, released" {
    create_bond
    token=$(rowlock hold --for 1h --note 'ask Ann' import)
    snippet lease.py
    ends_with 1 "$snippet"
    says 'another session imports'
    [ "$(handled)" = 0 ]
    rowlock release import --token "$token"
    snippet lease.py
    wait "$snippet"
    says leased
    [ "$(handled)" = 1 ]
    is_free import
}

@test "a lease from Python that waits: acquired, renewed, fenced, released" {
    waits_for_its_lease wait.py
}
@test "a lease from Python that waits, and is broken" { learns_of_its_loss wait.py; }

pid_of_holder() { sql "SELECT pid FROM rowlock.holders WHERE kind <> 'lease'"; }
@test "from a name to its lock, and from the lock to its name" {
    create_bond
    hold "$NAME"
    pid=$(pid_of_holder)
    snippet who_has.sql
    wait "$snippet"
    cat said
    [ "$(head -n 1 said | cut -d'|' -f1-3)" = "$pid|ExclusiveLock|t" ] # its query has several lines
    snippet which_name.sql
    wait "$snippet"
    cat said
    grep -qx "$pid|ExclusiveLock|t|$(sql "SELECT rowlock.key('$NAME')")|$NAME" said
    let_go
    snippet who_has.sql
    wait "$snippet"
    [ ! -s said ]
}
