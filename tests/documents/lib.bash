# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For the tests of the document loader: runs it on the database under test, and reads numbers from a
# summary.

load ../command/lib

loader() { "$ROWLOCK_TEST_BIN/examples/documents" --db "$ROWLOCK_TEST_URL" "$@"; }
# Starts the loader in the background into an empty table, with its summary in the file `summary`;
# its pid is in $loader_pid.
start_loader() {
    sql 'DELETE FROM document' 2>/dev/null || true # perhaps there is no table yet
    start sh -c 'exec "$@" >summary 2>messages' sh "$ROWLOCK_TEST_BIN/examples/documents" \
        --db "$ROWLOCK_TEST_URL" "$@"
    loader_pid=$started
}
teardown() { end_started TERM; }
rows() { sql 'SELECT count(*) FROM document' 2>/dev/null || echo 0; }
await_rows() { until_true has_rows "$1"; } # N: until the table has them, or the loader has ended
has_rows() { [ "$(rows)" -ge "$1" ] || is_gone "$loader_pid"; }
number() { # WORD: its number in a summary, from $output or the file `summary`
    local text=${output:-}
    [ -n "$text" ] || text=$(cat summary)
    awk -v word="$1" '$1 == word { print $2 }' <<<"$text"
}
put() { # FILE ID TIME [MORE]
    printf '<?xml version="1.0"?>\n<trade><id>%s</id><at>%s</at>%s</trade>\n' "$2" "$3" "${4:-}" \
        >"$1"
}
