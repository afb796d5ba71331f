# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For the tests that stop, freeze or configure a server, and so need one of their own. Sourced after
# lib: all its functions then use the database test_own on that server.
# shellcheck source=tests/lib/server.sh
. "$BATS_TEST_DIRNAME/../lib/server.sh"

own=own_${BATS_TEST_FILENAME##*/}_${ROWLOCK_TEST_ENGINE:-}
own_log=$ROWLOCK_TEST_FOLDER/$own/log
start_own() { "start_$ROWLOCK_TEST_ENGINE" "$own" "$@"; } # [OPTION...]; also restarts it
use_own() { # [OPTION...]: starts it, with an empty database
    start_own "$@"
    export ROWLOCK_TEST_URL="${server_url}test_own" ROWLOCK_TEST_ADMIN="${server_admin}test_own" \
        ROWLOCK_TEST_MARIADB_SOCKET=$server_socket
    case $ROWLOCK_TEST_ENGINE in
    postgresql) psql -qXAt "${server_admin}postgres" -c 'CREATE DATABASE test_own OWNER tester' ;;
    mariadb) as_root_of_mariadb -e 'CREATE DATABASE test_own' ;;
    esac
}
setup_file() {
    use_own
    rowlock schema install
}
teardown_file() { stop_server "$own"; }
