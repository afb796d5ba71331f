#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# odbc: URLs without a server: the error names what to install, and shows no password.

bats_require_minimum_version 1.5.0

setup() {
    rowlock="$ROWLOCK_TEST_BIN/rowlock"
    [[ $("$rowlock" --version) == *odbc* ]] || skip "this build has no driver odbc"
    unset ROWLOCK_USER ROWLOCK_PASSWORD_FILE
    export ODBCINI=$BATS_TEST_TMPDIR/odbc.ini ODBCSYSINI=$BATS_TEST_TMPDIR
    : >"$ODBCINI"
    : >"$ODBCSYSINI/odbcinst.ini"
}

fails() { # URL: one line of error
    run ! "$rowlock" --db "$1" ls
    [ "${#lines[@]}" = 1 ]
    [[ $output != *hidden* ]]
}

@test "a missing ODBC driver is one line that names its package" {
    for known in "{PostgreSQL Unicode}:odbc-postgresql" "{MariaDB Unicode}:odbc-mariadb" \
        /nowhere/psqlodbcw.so:odbc-postgresql \
        /nowhere/libtdsodbc.so:tdsodbc "{ODBC Driver 18 for SQL Server}:msodbcsql18"; do
        fails "odbc:Driver=${known%:*};Server=127.0.0.1;UID=a;PWD=hidden"
        [[ $output == *"cannot load the ODBC driver '"* ]]
        [[ $output == *"install the package ${known##*:}"* ]]
    done
}

@test "a data source whose driver is missing names its package" {
    printf '[farm]\nDriver=/nowhere/libmaodbc.so\n[other]\nDriver=/nowhere.so\n' >"$ODBCINI"
    fails "odbc:DSN=farm;PWD=hidden"
    [ "$status" = 69 ]
    [[ $output == *"data source 'farm' has a driver that cannot be loaded: "* ]]
    [[ $output == *"/nowhere/libmaodbc.so"*"; install the package odbc-mariadb; odbcinst -q -d "* ]]
    fails "odbc:DSN=other;PWD=hidden"
    [[ $output == *"/nowhere.so"*"; install its driver; odbcinst -q -d "* ]]
}

@test "a missing driver manager is one line that names its package" {
    mkdir "$BATS_TEST_TMPDIR/hidden"
    : >"$BATS_TEST_TMPDIR/hidden/libodbc.so.2" # found first, and no library
    : >"$BATS_TEST_TMPDIR/hidden/libiodbc.so.2"
    LD_LIBRARY_PATH=$BATS_TEST_TMPDIR/hidden fails "odbc:DSN=farm;PWD=hidden"
    [ "$status" = 69 ]
    [[ $output == *"client library libodbc.so.2; install the package libodbc2 "* ]]
}

@test "an unknown data source is one line that says where to define it" {
    fails "odbc:DSN=farm;PWD=hidden"
    [[ $output == *"data source 'farm': define it in ~/.odbc.ini or /etc/odbc.ini"* ]]
    fails "odbc:PWD=hidden"
    [[ $output == *"write odbc:DSN=... or odbc:Driver={...};..."* ]]
}

@test "a password file that others can read is refused" {
    echo hidden >"$BATS_TEST_TMPDIR/password"
    chmod 644 "$BATS_TEST_TMPDIR/password"
    ROWLOCK_PASSWORD_FILE=$BATS_TEST_TMPDIR/password fails "odbc:DSN=farm"
    [[ $output == *"run: chmod 600 "* ]]
    chmod 600 "$BATS_TEST_TMPDIR/password"
    if [ "$(id -u)" = 0 ]; then
        chown 65534 "$BATS_TEST_TMPDIR/password"
        ROWLOCK_PASSWORD_FILE=$BATS_TEST_TMPDIR/password fails "odbc:DSN=farm"
        [[ $output == *"belongs to another user; it must belong to this user or to root"* ]]
        chown 0 "$BATS_TEST_TMPDIR/password"
    fi
    ROWLOCK_PASSWORD_FILE=$BATS_TEST_TMPDIR/password fails "odbc:DSN=farm"
    [[ $output == *"data source 'farm'"* ]]
}
