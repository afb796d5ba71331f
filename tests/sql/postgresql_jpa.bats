#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The first article's entity through JPA, on the article's table; and its failure without the
# entity's two flushes.
# Runs on: postgresql/insert
# Quick: never

load ../command/lib
load snippets.bash

setup_file() {
    sql "CREATE TABLE businessobjectlock (
             uuid VARCHAR(32) NOT NULL, id VARCHAR(80) NOT NULL, locked_ts TIMESTAMP NOT NULL,
             CONSTRAINT pk_businessobjectlock PRIMARY KEY (uuid),
             CONSTRAINT id_businessobjectlock UNIQUE (id))"
    sql 'ALTER TABLE businessobjectlock OWNER TO tester'
    rowlock schema install --technique insert --table businessobjectlock
}

CLASSES=$JARS/postgresql.jar:$JARS/eclipselink.jar:$JARS/eclipselink-jpa-2.1-spec.jar
build() { # [SED-SCRIPT]: the class, with changes
    mkdir -p classes src
    sed -e "${1:-}" "$SNIPPETS/JpaLock.java" >src/JpaLock.java
    javac -cp "$CLASSES" -d classes src/JpaLock.java
    cp -r "$SNIPPETS/META-INF" classes
}
run_java() { exec java -cp "classes:$CLASSES" JpaLock "$(jdbc_url)"; }
rows() { sql 'SELECT count(*) FROM businessobjectlock'; }

@test "JPA waits, and continues; no row is left" {
    build
    waits_and_goes_on JpaLock.java
    [ "$(rows)" = 0 ]
}

@test "without the first flush there is no lock at all" {
    build '/em.flush(); \/\/ sends the INSERT/d'
    run ! cmp -s src/JpaLock.java "$SNIPPETS/JpaLock.java"
    create_bond
    hold "$NAME"
    snippet JpaLock.java
    wait "$snippet"
    says locked
    [ "$(handled)" = 1 ] # while the other holds the name
    let_go
}

@test "without the second flush the row stays if the entity manager is cleared: JPA is refused" {
    build 's/em.flush(); \/\/ sends the DELETE.*/em.clear();/'
    run ! cmp -s src/JpaLock.java "$SNIPPETS/JpaLock.java"
    create_bond
    snippet JpaLock.java
    wait "$snippet"
    [ "$(rows)" = 1 ]
    rowlock run --tx -n "$NAME" -- true # rowlock is not
    snippet JpaLock.java
    ends_with 1 "$snippet"
    said_of 'id_businessobjectlock'
    sql 'DELETE FROM businessobjectlock'
    snippet JpaLock.java
    wait "$snippet"
    [ "$(handled)" = 2 ]
}
