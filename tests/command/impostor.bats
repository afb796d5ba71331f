#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A server that is not what its protocol promises: known products are refused by name; one that
# ignores row locks fails the proof of install and doctor.
# Runs on: postgresql/native mariadb/row
# Quick: first

load lib

teardown() { end_started; }
port_of_url() { local place=${ROWLOCK_TEST_URL#*@}; place=${place#*:}; echo "${place%%/*}"; }

# FROM TO PRODUCT: each verb that opens the database refuses the server, and names the product
refuses() {
    local port file=$BATS_TEST_TMPDIR/port url
    rm -f "$file"
    port=$(port_of_url)
    start perl "$BATS_TEST_DIRNAME/../lib/pretend.pl" "$port" "$file" "$1" "$2"
    until_true is_there "$file"
    url=${ROWLOCK_TEST_URL/:$port\//:$(cat "$file")\/}
    for verb in 'schema install' 'run x -- true' ls; do
        # shellcheck disable=SC2086
        runs 69 "$ROWLOCK" --db "$url" $verb
        [[ $output == *"cannot keep a lock: it is $3, which "* ]]
        [[ $output != *"run: rowlock schema install"* ]]
    done
    runs 2 "$ROWLOCK" --db "$url" doctor
    [[ $output == *FAIL*server*"it is $3, which "* ]]
}

@test "a server whose version names another product is refused by that name" {
    case $ROWLOCK_TEST_ENGINE in
    postgresql) refuses 'PostgreSQL ' 'Greenplum  ' Greenplum ;;
    mariadb)
        ! is_mysql || skip "the version of MySQL does not name it"
        refuses MariaDB Vitess- Vitess
        ;;
    esac
}

# The schema as a server executes it that ignores row locks.
without_row_locks() {
    local dialect=mariadb
    ! is_mysql || dialect=mysql
    "$ROWLOCK" schema print "$dialect" --technique row --role rowlock |
        sed 's/FOR UPDATE\( SKIP LOCKED\)\?;/;/; s/INSERT INTO rowlock_probe .*;/DO 0;/'
}
@test "install and doctor refuse a server that ignores row locks" {
    [ "$ROWLOCK_TEST_ENGINE" = mariadb ] || return 0 # the other locks no rows for a name
    rowlock schema uninstall --force
    without_row_locks | as_root_of_mariadb "${ROWLOCK_TEST_URL##*/}"
    runs 69 rowlock schema install
    [[ $output == *"two sessions had the same one at the same time, because it ignores"* ]]
    runs 2 rowlock doctor --only self-test
    [[ $output == FAIL*self-test*"ignores row locks"* ]]
    rowlock schema uninstall --force
    install_technique
    runs 0 rowlock doctor --only self-test
}
