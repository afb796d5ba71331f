#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Replays the article about YugabyteDB: its input is typed at psql, and the output is compared with
# the expected one beside it. Where the result differs from the article, a comment in the transcript
# gives the reason. Only for technique row, the article's own: sessions/interleave_test proves the
# same on every engine and technique, and postgresql_locks.bats and mariadb_locks.bats have unlock
# and vacuum.
# Runs on: postgresql/row

load ../command/lib

# The transcript starts clients of its own (\!), which find the database through their configuration
# file.
play() {
    printf '\\set VERBOSITY verbose\n\\set SHOW_CONTEXT never\n' >psqlrc
    PSQLRC=$PWD/psqlrc PGSYSCONFDIR=$PWD PGHOST=127.0.0.1 PGPORT=$ROWLOCK_TEST_POSTGRESQL_PORT \
        PGUSER=tester \
        PGDATABASE=${ROWLOCK_TEST_URL##*/} psql -X -a -v VERBOSITY=verbose -v SHOW_CONTEXT=never
}
# Removes what varies: source positions of errors.
without_what_varies() { sed -E -e 's/[[:space:]]+$//' -e '/^LOCATION:  /d'; }

@test "the article's transcript: known and new keys, shared and exclusive, unlock, vacuum" {
    play <"$BATS_TEST_DIRNAME/replay/postgresql_row.sql" 2>&1 | without_what_varies >said
    diff -u "$BATS_TEST_DIRNAME/replay/postgresql_row.out" said
}
