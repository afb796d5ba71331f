# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For the tests of MariaDB's procedures: sessions of the mariadb client that execute statements step
# by step, and their output.

# shellcheck source=tests/command/lib.bash
. "${BASH_SOURCE[0]%/*}/../command/lib.bash"

database=${ROWLOCK_TEST_URL##*/}

# Statements in MySQL's words. Without @@in_transaction rowlock's own procedure finds out.
words() {
    if is_mysql; then
        sed -uE 's/@@tx_isolation/@@transaction_isolation/g
                 s/(SELECT [^;]*)@@in_transaction/CALL rowlock_in_transaction(); \1@rowlock_open/g'
    else
        cat
    fi
}
client() { # [OPTION...]: reads statements from its standard input; errors do not end it
    words | mariadb --no-defaults --socket="$ROWLOCK_TEST_MARIADB_SOCKET/socket" -u root -N -B \
        --unbuffered --force \
        "$@" "$database" 2>&1
}
# say STATEMENTS: the output of a new session; fails only if the client hangs for 40 s (the server's
# own limit for a wait is 50 s).
say() { say_as root "$1"; }
say_as() { # USER STATEMENTS
    local ended=0
    words <<<"${2//$'\n'/ }" >say.sql
    timeout --foreground -s KILL 40 \
        mariadb --no-defaults --socket="$ROWLOCK_TEST_MARIADB_SOCKET/socket" -u "$1" -N -B \
        --force --unbuffered "$database" <say.sql >said 2>&1 3>&- || ended=$?
    [ $ended != 137 ] || echo "it hangs"
    sed '/^--------------$/,/^--------------$/d; /^$/d' said
    [ $ended != 137 ]
}
# each_says: reads lines `PATTERN | STATEMENTS`, and executes them in one session; after each line
# it rolls back. The output of a line must match its pattern, in which a line break is a space.
each_says() {
    local expected statements output line all='' wrong=0
    cat >expected
    [ -s expected ] || return 1
    while IFS='|' read -r _ statements; do
        all+="$statements; ROLLBACK; SELECT '===='; "
    done <expected
    say "$all" >each
    while IFS='|' read -r expected statements; do
        output=
        while read -r line <&7 && [ "$line" != ==== ]; do output+="$line "; done
        # shellcheck disable=SC2053
        [[ ${output% } == ${expected% } ]] ||
            { echo "$statements: not $expected: $output"; wrong=1; }
    done <expected 7<each
    return $wrong
}
open_session() { # NAME DESCRIPTOR: a client that writes its answers to the file NAME
    mkfifo "$1.in"
    client <"$1.in" >"$1" 3>&- 4>&- 5>&- 6>&- &
    all_started+=($!)
    eval "exec $2>$1.in"
    echo "SELECT CONCAT('session ', CONNECTION_ID());" >&"$2"
    until_true said "$1" 'session [0-9]*'
}
said() { grep -qx -- "$2" "$1"; } # FILE PATTERN: whether it is a whole line of the answers
session_of() { sed -n 's/^session //p' "$1"; }
# A test that failed must leave neither a lock nor a process to the next one.
close_sessions() {
    exec 4>&- 5>&- 6>&-
    end_started
    wait
}
# Whether the session of that file waits for a row, as the server reports it.
waits_for_a_row() {
    waiting_sessions | grep -qx "$(session_of "$1")"
}
sleeps() { # FILE: its session polls for a lease
    [ "$(sql "SELECT count(*) FROM $processlist
              WHERE id = $(session_of "$1") AND state = 'User sleep'")" = 1 ]
}
committed_level='SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED'
