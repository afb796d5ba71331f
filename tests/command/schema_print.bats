#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A DBA can run the output of `schema print` with the engine's own client; afterwards a role with
# the least privileges can lock. Its functions have comments.
# Runs on: postgresql mariadb
# Quick: first
# Rest: postgresql mariadb

load lib
load roles

role=least_${ROWLOCK_TEST_URL##*_}
setup_file() { :; } # nothing is installed
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    create_role "$role"
}
teardown() { drop_role "$role"; }
as_owner_of_all() { # an earlier test's schema is the superuser's
    case $ROWLOCK_TEST_ENGINE in
    postgresql) "$ROWLOCK" --db "$ROWLOCK_TEST_ADMIN" "$@" ;;
    # on MySQL an account without SYSTEM_USER cannot drop what root has created
    mariadb) if is_mysql; then "$ROWLOCK" --db "$ROWLOCK_TEST_ADMIN" "$@"; else rowlock "$@"; fi ;;
    esac
}

@test "printed, run by the client, and used by a role with the least privileges" {
    rowlock schema print --technique "$ROWLOCK_TEST_TECHNIQUE" --role "$role" | paste_in >said 2>&1
    cat said
    [ ! -s said ]
    url=$(url_of_role "$role")
    run -0 "$ROWLOCK" --db "$url" demo --workers 3 --hold 1
    run -0 "$ROWLOCK" --db "$url" run --tx a 'b b' ü -- echo done
    [ "$output" = done ]
    run -0 "$ROWLOCK" --db "$url" run -w 20 a 'b b' ü -- echo leased
    [ "$output" = leased ]
    run -0 "$ROWLOCK" --db "$url" vacuum
    run -69 "$ROWLOCK" --db "$url" schema uninstall
}

@test "technique insert on an existing table: the printed GRANTs alone are enough" {
    [ "$ROWLOCK_TEST_TECHNIQUE" = insert ] || return 0
    as_owner_of_all schema uninstall
    rowlock schema install --technique insert --table businessobjectlock
    rowlock schema print --grants --role "$role" | paste_in
    run -0 "$ROWLOCK" --db "$(url_of_role "$role")" run -n --tx a -- true
}

@test "the dialect is the URL's, or the named one; no connection is made" {
    dialect=${ROWLOCK_TEST_URL%%://*}
    rowlock schema print >by-url
    "$ROWLOCK" schema print --db "$dialect://nobody@127.0.0.1:1/none" >unreachable
    "$ROWLOCK" --db sqlite:/nowhere/at/all schema print "$dialect" >by-name
    cmp by-url unreachable
    cmp by-url by-name
}

commented() {
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        sql "SELECT DISTINCT 'rowlock.' || proname FROM pg_proc
             WHERE pronamespace = 'rowlock'::regnamespace
             AND obj_description(oid, 'pg_proc') NOT LIKE 'internal:%'"
        ;;
    mariadb)
        sql "SELECT routine_name FROM information_schema.routines
             WHERE routine_schema = database() AND routine_comment <> ''"
        ;;
    esac
}
@test "each public function has a comment that explains it, and the manual page lists it" {
    as_owner_of_all schema uninstall
    install_technique
    commented | sort >commented
    separator=.
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || separator=_
    grep -oE "^rowlock[$separator][a-z_]+\(" "$BATS_TEST_DIRNAME/../../man/verbs/schema.txt" |
        tr -d '(' | sort -u >listed
    diff listed commented
    [ "$(wc -l <listed)" -ge 8 ]
}
