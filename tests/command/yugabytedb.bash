# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Starts a proxy between the tests and PostgreSQL, which makes the server at ROWLOCK_TEST_URL report
# that it is YugabyteDB, or with DISGUISE=old PostgreSQL 12.

setup_file() {
    export STANDIN=$BATS_FILE_TMPDIR/port
    psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" -f "$BATS_TEST_DIRNAME/../lib/yugabytedb.sql"
    perl "$BATS_TEST_DIRNAME/../lib/yugabytedb.pl" "$ROWLOCK_TEST_POSTGRESQL_PORT" "$STANDIN" \
        ${DISGUISE:+"$DISGUISE"} </dev/null >"$BATS_FILE_TMPDIR/log" 2>&1 3>&- &
    echo $! >"$BATS_FILE_TMPDIR/pid"
    until_true is_there "$STANDIN"
}
teardown_file() { kill "$(cat "$BATS_FILE_TMPDIR/pid")"; }
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    direct=$ROWLOCK_TEST_URL
    export ROWLOCK_TEST_URL=${direct/:$ROWLOCK_TEST_POSTGRESQL_PORT/:$(cat "$STANDIN")}
    [ -n "${DISGUISE:-}" ] || rowlock schema install >/dev/null 2>&1
}


run_psql() { psql -qXAt -v ON_ERROR_STOP=1 -v VERBOSITY=verbose "$ROWLOCK_TEST_URL" "$@"; }
