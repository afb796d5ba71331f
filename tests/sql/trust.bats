#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The claims of docs/security.md about a role that locks, and about a role without any grant.
# Runs on: postgresql mariadb
# Quick: first
# Rest: postgresql mariadb

load ../command/lib
load ../command/roles

role=trusted_${ROWLOCK_TEST_URL##*_}
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    create_role "$role"
}
teardown() {
    let_go
    drop_role "$role"
}
client() { # of the role, which reads statements
    case $ROWLOCK_TEST_ENGINE in
    postgresql) psql -qXAt -v ON_ERROR_STOP=1 "$(url_of_role "$role")" ;;
    mariadb)
        mariadb --no-defaults --socket="$ROWLOCK_TEST_MARIADB_SOCKET/socket" -u "$role" \
            -pleast -n -N -B "${ROWLOCK_TEST_URL##*/}"
        ;;
    esac
}
as_role() { client <<<"$1;"; } # STATEMENT
hold_as_role() { # STATEMENT: as the role, until let_go
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
grant() { print_grants "$role" | paste_in; }

@test "a role that locks can delete the lease of another" {
    local table=rowlock.lease
    grant
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || table=rowlock_lease
    rowlock acquire --ttl 1h x
    run -75 rowlock run -n x -- true
    [ "$ROWLOCK_TEST_ENGINE/$ROWLOCK_TEST_TECHNIQUE" != mariadb/row ] || table=rowlock_name
    as_role "DELETE FROM $table WHERE name = 'x'"
    rowlock run -n x -- true
}

# The status of a transaction lock and of a lease of the name x, which no caller of rowlock has.
statuses() {
    local tx lease
    rowlock run --tx -n x -- true || tx=$?
    rowlock run -n x -- true || lease=$?
    echo "${tx:-0} ${lease:-0}"
}

@test "PostgreSQL: a role without a grant blocks a name, with every technique" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    run ! as_role "SELECT rowlock.key('x')"
    hold_as_role "SELECT pg_advisory_lock(hashtextextended('x' COLLATE \"C\", 32210706056045419));"
    [ "$(statuses)" = '75 75' ]
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
        run ! as_role "SELECT * FROM $table FOR UPDATE"
        sql "GRANT SELECT ON $table TO $role@'%'"
        hold_as_role "START TRANSACTION; SELECT COUNT(*) FROM $table FOR UPDATE;"
        [ "$(statuses)" = '75 75' ]
        let_go
        [ "$(statuses)" = '0 0' ]
        ;;
    postgresql)
        sql "GRANT USAGE ON SCHEMA rowlock TO $role; GRANT SELECT ON $table TO $role"
        as_role "SELECT * FROM $table"
        run ! as_role "SELECT * FROM $table FOR SHARE"
        ;;
    esac
}

# The last one: no lease is granted afterwards.
@test "a role that locks can use up the tokens: then no caller gets a lease" {
    grant
    rowlock run x -- true
    local last=9223372036854775807 # a row of MariaDB has those of its name, else a sequence
    case $ROWLOCK_TEST_ENGINE in
    postgresql) as_role "SELECT setval('rowlock.number', $last)" ;;
    mariadb)
        if [ "$ROWLOCK_TEST_TECHNIQUE" = row ]; then
            as_role "UPDATE rowlock_name SET least = $last WHERE name = 'x'"
        else as_role "DO SETVAL(rowlock_token, $((last - 1)))"; fi
        ;;
    esac
    run ! rowlock run -n x -- true
    rowlock run --tx -n x -- true
}
