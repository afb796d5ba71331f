#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A transaction prepared for a two-phase commit keeps its locks without a session. A server of the
# test's own permits that.
# Runs on: postgresql/native

load ../command/lib
# shellcheck source=tests/lib/server.sh
. "$BATS_TEST_DIRNAME/../lib/server.sh"

setup_file() {
    start_postgresql prepared -c max_prepared_transactions=2
    export OWN=${server_admin}postgres
    "$ROWLOCK" --db "$OWN" schema install
}
teardown_file() { stop_server prepared; }

@test "a prepared transaction that holds a name is listed with its identifier, without a session" {
    psql -qXAt "$OWN" -c "SELECT rowlock.next('c')"
    psql -qXAt "$OWN" -c "BEGIN; SELECT rowlock.exclusive('counter:c');
                          PREPARE TRANSACTION 'two phases'"
    shown=$(psql -qXAt "$OWN" -c "SELECT kind, mode, pid IS NULL, note, since <= clock_timestamp(),
                                  host IS NULL, waiting
                                  FROM rowlock.holders WHERE name = 'counter:c'")
    echo "$shown"
    [ "$shown" = 'prepared transaction|exclusive|t|prepared transaction two phases|t|t|0' ]
    psql -qXAt "$OWN" -c "ROLLBACK PREPARED 'two phases'"
    [ "$(psql -qXAt "$OWN" -c 'SELECT count(*) FROM rowlock.holders')" = 0 ]
}
