#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The claims of docs/security.md about a role that locks, and about a role without any grant.
# Runs on: postgresql mariadb
# Quick: first
# Rest: postgresql mariadb

bats_require_minimum_version 1.5.0
load ../command/lib

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    role=trusted_${ROWLOCK_TEST_URL##*_}
    install_technique
    case $ROWLOCK_TEST_ENGINE in
    postgresql) sql "CREATE ROLE $role LOGIN" ;;
    mariadb) sql "CREATE USER $role@'%' IDENTIFIED BY 'least'" ;;
    esac
}
teardown() {
    let_go
    case $ROWLOCK_TEST_ENGINE in
    postgresql) sql "DROP OWNED BY $role; DROP ROLE $role" ;;
    mariadb) sql "DROP USER $role@'%'" ;;
    esac
    rowlock schema uninstall --force
}
as_role() { # STATEMENT
    case $ROWLOCK_TEST_ENGINE in
    postgresql) psql -qXAt -v ON_ERROR_STOP=1 "postgresql://$role@${ROWLOCK_TEST_URL#*@}" -c "$1" ;;
    mariadb)
        mariadb --no-defaults --socket="$ROWLOCK_TEST_MARIADB_SOCKET/socket" -u "$role" \
            -pleast -N -B "${ROWLOCK_TEST_URL##*/}" -e "$1"
        ;;
    esac
}
client() { # of the role, which reads statements
    case $ROWLOCK_TEST_ENGINE in
    postgresql) psql -qXAt "postgresql://$role@${ROWLOCK_TEST_URL#*@}" ;;
    mariadb)
        mariadb --no-defaults --socket="$ROWLOCK_TEST_MARIADB_SOCKET/socket" -u "$role" \
            -pleast -n -N -B "${ROWLOCK_TEST_URL##*/}"
        ;;
    esac
}
hold_by() { # STATEMENT: as the role, until let_go
    mkfifo in.$$
    client <in.$$ >held.out 2>held.err &
    holder=$!
    exec 7>in.$$
    echo "$1 SELECT 'done';" >&7
    until_true grep -q 'done' held.out
}
let_go() {
    exec 7>&-
    [ -z "${holder:-}" ] || wait "$holder" || true
    holder=
    rm -f in.*
}
grant() { # as the printed text grants to a role that locks
    local name=$role
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || name=$role@%
    rowlock schema print --technique "$ROWLOCK_TEST_TECHNIQUE" --grants --role "$name" >grants.sql
    case $ROWLOCK_TEST_ENGINE in
    postgresql) psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" -f grants.sql ;;
    mariadb) as_root_of_mariadb "${ROWLOCK_TEST_URL##*/}" <grants.sql ;;
    esac
}

@test "a role that locks can delete the lease of another" {
    local table=rowlock.lease
    grant
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || table=rowlock_lease
    rowlock acquire --ttl 1h x
    run rowlock run -n x -- true
    [ "$status" = 75 ]
    as_role "DELETE FROM $table WHERE name = 'x'"
    rowlock run -n x -- true
}

@test "a role that locks can use up the tokens: then no caller gets a lease" {
    grant
    rowlock run x -- true
    local last=9223372036854775807 # a table draws the tokens on MySQL, else a sequence
    case $ROWLOCK_TEST_ENGINE in
    postgresql) as_role "SELECT setval('rowlock.number', $last)" ;;
    mariadb)
        if is_mysql; then as_role "INSERT INTO rowlock_token (number) VALUES ($last)"
        else as_role "DO SETVAL(rowlock_token, $((last - 1)))"; fi
        ;;
    esac
    run rowlock run -n x -- true
    echo "$status: $output"
    [ "$status" != 0 ]
    rowlock run --tx -n x -- true
}

# The status of a transaction lock and of a lease of the name x, which no caller of rowlock has.
statuses() {
    local tx lease
    rowlock run --tx -n x -- true || tx=$?
    rowlock run -n x -- true || lease=$?
    echo "${tx:-0} ${lease:-0}"
}

@test "PostgreSQL: a role without a grant blocks a name, but only under native" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    local expected='0 0'
    [ "$ROWLOCK_TEST_TECHNIQUE" != native ] || expected='75 75'
    run as_role "SELECT rowlock.key('x')"
    [ "$status" != 0 ]
    hold_by "SELECT pg_advisory_lock(hashtextextended('x' COLLATE \"C\", 32210706056045419));"
    [ "$(statuses)" = "$expected" ]
    let_go
    [ "$(statuses)" = '0 0' ]
}

@test "a role with SELECT alone locks rows on MariaDB, and none on PostgreSQL" {
    ! is_mysql || skip "MySQL was not examined" # FOR UPDATE needs a further privilege
    local table=rowlock_name
    [ "$ROWLOCK_TEST_TECHNIQUE" != insert ] || table=rowlock_object
    [ "$ROWLOCK_TEST_TECHNIQUE" != native ] || return 0 # it has no rows of names
    statuses
    case $ROWLOCK_TEST_ENGINE in
    mariadb)
        run as_role "SELECT * FROM $table FOR UPDATE"
        [ "$status" != 0 ]
        sql "GRANT SELECT ON $table TO $role@'%'"
        hold_by "START TRANSACTION; SELECT COUNT(*) FROM $table FOR UPDATE;"
        [ "$(statuses)" = '75 75' ]
        let_go
        [ "$(statuses)" = '0 0' ]
        ;;
    postgresql)
        [ $table = rowlock_object ] || table=rowlock.name
        sql "GRANT USAGE ON SCHEMA rowlock TO $role; GRANT SELECT ON $table TO $role"
        as_role "SELECT * FROM $table"
        run as_role "SELECT * FROM $table FOR SHARE"
        [ "$status" != 0 ]
        ;;
    esac
}
