#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Replays the article about YugabyteDB: its input is typed at PostgreSQL's psql and at MariaDB's
# client, and the output is compared with the expected one beside it. Where the result differs from
# the article, a comment in the transcript gives the reason.
# Runs on: postgresql/native postgresql/row mariadb/row
# Quick: first

load ../command/lib

setup_file() { install_technique; }

# The transcript starts clients of its own (\!), which find the database through their configuration
# files.
play() {
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        printf '\\set VERBOSITY verbose\n\\set SHOW_CONTEXT never\n' >psqlrc
        PSQLRC=$PWD/psqlrc PGSYSCONFDIR=$PWD PGHOST=127.0.0.1 PGPORT=$ROWLOCK_TEST_POSTGRESQL_PORT \
            PGUSER=tester \
            PGDATABASE=${ROWLOCK_TEST_URL##*/} psql -X -a -v VERBOSITY=verbose -v SHOW_CONTEXT=never
        ;;
    mariadb)
        printf '[client]\nsocket=%s/socket\nuser=rowlock\npassword=secret\n[mysql]\ndatabase=%s\n' \
            "$ROWLOCK_TEST_MARIADB_SOCKET" "${ROWLOCK_TEST_URL##*/}" >my.cnf
        mkdir bin
        printf '#!/bin/sh\nexec %s --defaults-file=%s/my.cnf "$@"\n' "$(command -v mariadb)" \
            "$PWD" >bin/mariadb
        chmod +x bin/mariadb
        # line by line, otherwise errors come first; --force continues after them, and fails at the
        # end
        PATH=$PWD/bin:$PATH stdbuf -oL mariadb --table -vv --force || true
        ;;
    esac
}
# Removes what varies: source positions of errors, the rows that a procedure wrote, hints of errors,
# and the lines that the mariadb client draws around statements.
without_what_varies() {
    sed -E -e 's/[[:space:]]+$//' -e '/^LOCATION:  /d' \
        -e 's/^Query OK, [0-9]+ rows? affected$/Query OK/' \
        -e 's/^(ERROR [0-9]+ \([^)]*\)) at line [0-9]+:/\1:/' \
        -e 's/^(ERROR .* is held by another transaction)\W .*/\1/' |
        if [ "$ROWLOCK_TEST_ENGINE" = mariadb ]; then sed -E '/^(-{14}|Bye|)$/d'; else cat; fi
}

@test "every transcript of the article: known and new keys, shared and exclusive, unlock, vacuum" {
    ! is_mysql || skip "it is in MariaDB's words: SET STATEMENT, @@tx_isolation"
    transcript=$BATS_TEST_DIRNAME/replay/${ROWLOCK_TEST_ENGINE}_$ROWLOCK_TEST_TECHNIQUE
    play <"$transcript.sql" 2>&1 | without_what_varies >said
    diff -u "$transcript.out" said
}
