# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For the tests of the document loader: runs the loader on the database under test, executes a
# statement of the test's own, and reads numbers from a summary.

# shellcheck source=tests/lib/processlist.bash
. "${BASH_SOURCE[0]%/*}/../lib/processlist.bash"

loader() { "$ROWLOCK_TEST_BIN/examples/documents" --db "$ROWLOCK_TEST_URL" "$@"; }
# Starts the loader in the background into an empty table, with its summary in the file `summary`;
# the parent's pid is in $loader_pid.
start_loader() {
    sql 'DELETE FROM document' || true
    "$ROWLOCK_TEST_BIN/examples/documents" --db "$ROWLOCK_TEST_URL" "$@" \
        >summary 2>messages 3>&- 4>&- &
    loader_pid=$!
}
install_technique() {
    "$ROWLOCK_TEST_BIN/rowlock" --db "$ROWLOCK_TEST_URL" schema install \
        --technique "$ROWLOCK_TEST_TECHNIQUE"
}

sql() { # STATEMENT: prints rows, one per line; fails quietly where there is no table yet
    case $ROWLOCK_TEST_ENGINE in
    sqlite) sqlite3 -cmd '.timeout 10000' "${ROWLOCK_TEST_URL#sqlite:}" "$1" ;;
    postgresql) psql -qXAt "$ROWLOCK_TEST_URL" -c "$1" ;;
    mariadb)
        mariadb --no-defaults --socket="$ROWLOCK_TEST_MARIADB_SOCKET/socket" -u root -N -B \
            "${ROWLOCK_TEST_URL##*/}" -e "$1"
        ;;
    esac 2>/dev/null
}
rows() { sql 'SELECT count(*) FROM document' || echo 0; }
is_gone() { ! kill -0 "$1" 2>/dev/null; }
# Waits until the table has N rows, or the loader has ended; fails if neither happens.
await_rows() {
    local tries
    for tries in {1..1500}; do
        if [ "$(rows)" -ge "$1" ] || is_gone "$loader_pid"; then return; fi
        sleep 0.02
    done
    echo "no $1 rows after $tries looks" >&2
    return 1
}
# For teardown: a test that failed must not leave a loader behind.
stop_loader() {
    [ -z "${loader_pid:-}" ] || kill -TERM "$loader_pid" 2>/dev/null || true
}
workers_of() { cat "/proc/$1/task/$1/children"; }
number() { # WORD: its number in a summary, from $output or the file `summary`
    local text=${output:-}
    [ -n "$text" ] || text=$(cat summary)
    awk -v word="$1" '$1 == word { print $2 }' <<<"$text"
}
put() { # FILE ID TIME [MORE]
    printf '<?xml version="1.0"?>\n<trade><id>%s</id><at>%s</at>%s</trade>\n' "$2" "$3" "${4:-}" \
        >"$1"
}
