# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# For the tests of the SQL functions: statements by psql, and sessions of psql that stay open.

load ../command/lib

db() { # STATEMENT...: each one is a transaction, except after BEGIN; errors show their SQLSTATE
    local each
    for each; do
        printf '%s;\n' "$each"
    done | psql -qXAt -v ON_ERROR_STOP=1 -v VERBOSITY=verbose "$ROWLOCK_TEST_URL" 2>&1
}
fails_with() { # SQLSTATE STATEMENT...: fails with it; the message is in $output
    local state=$1
    shift
    run db "$@"
    [ "$status" != 0 ] && [[ $output == *"ERROR:  $state: "* ]]
}
# each_fails: reads lines `SQLSTATE [PATTERN] | STATEMENTS`, and executes them in one session; after
# each line it rolls back. The first error of a line must have its SQLSTATE, and the errors of the
# line match the pattern.
each_fails() {
    local expected statements state pattern errors line wrong=0
    cat >expected
    [ -s expected ] || return 1
    while IFS='|' read -r _ statements; do
        printf '%s;\nROLLBACK;\n\\warn ----\n' "$statements"
    done <expected |
        psql -qXAt -v VERBOSITY=verbose "$ROWLOCK_TEST_URL" 2>errors >/dev/null
    while IFS='|' read -r expected statements; do
        read -r state pattern <<<"$expected"
        errors=
        while read -r line <&4 && [ "$line" != ---- ]; do errors+=$line$'\n'; done
        errors=${errors#*ERROR:  }
        # shellcheck disable=SC2053
        [[ $errors == "$state: "* && $errors == *$pattern* ]] ||
            { echo "$statements: not $state $pattern: $errors"; wrong=1; }
    done <expected 4<errors
    return $wrong
}

# A session is a psql that reads a fifo, with its output in the file NAME. `ask` sends statements,
# `answer` waits for a line of the file, `in_session` sends statements and waits until all are done.
declare -gA session_fd=()
open_session() { # NAME [URL]
    local fd
    mkfifo "$1.in"
    psql -qXAt -v VERBOSITY=verbose "${2:-$ROWLOCK_TEST_URL}" <"$1.in" >"$1" 2>&1 3>&- &
    exec {fd}>"$1.in"
    session_fd[$1]=$fd
}
close_sessions() {
    local name fd
    for name in "${!session_fd[@]}"; do
        fd=${session_fd[$name]}
        exec {fd}>&-
    done
    session_fd=()
    wait
}
ask() { # NAME STATEMENT...
    printf '%s;\n' "${@:2}" >&"${session_fd[$1]}"
}
said() { grep -q -- "$2" "$1"; } # NAME REGULAR-EXPRESSION
answer() {
    until_true said "$@" || {
        cat "$1"
        return 1
    }
}
in_session() { # NAME [STATEMENT...]
    all_done=$((${all_done:-0} + 1))
    ask "$@" "SELECT 'all done $all_done'"
    answer "$1" "^all done $all_done\$"
}
asleep() { # in pg_sleep, like a caller that waits for a lease inside a transaction
    [ "$(sql "SELECT count(*) FROM pg_stat_activity
              WHERE datname = current_database() AND wait_event = 'PgSleep'")" != 0 ]
}
