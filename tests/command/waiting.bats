#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The line that explains a wait: on a terminal (a pty of script(1), whose keyboard is descriptor 5)
# a status line, elsewhere a message of --verbose.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: sqlite/native

load lib
load run.bash
load terminal.bash
load proxy.bash

teardown() {
    exec 5>&-
    end_started
    rowlock break --now a || true
}

in_columns() { TERM=xterm at_terminal "stty cols $1; exec $2"; } # COLUMNS COMMAND
shows() { grep -aq -- "$1" screen 2>/dev/null; }
here="'$ROWLOCK' --db '$ROWLOCK_TEST_URL'"
# The line as it was drawn last, with the cursor's movements made visible.
lines_drawn() { sed 's/\r/\n/g; s/\x1b\[K/<K>/g' screen | grep -aE '^(rowlock: )?waiting'; }

@test "run shows position, holder, since when and note; the line goes when the wait ends" {
    token=$(rowlock hold a --for 1h --note 'new disks, ask Ann')
    start_rowlock acquire --ttl 1m -w 1h a
    first=$started
    until_true is_waited_for a
    in_columns 200 "$here run a -- sh -c 'echo it runs; exit 3'"
    until_true shows "waiting .* for 'a', 2 of 2 in the queue; held by $(uname -n) hold since"
    shows ": new disks, ask Ann"
    kill "$first"
    until_true shows "for 'a', 1 of 1 in the queue"
    rowlock release a --token "$token"
    ends_with 3 "$terminal"
    lines_drawn | tail -n 3
    [[ $(tail -n 3 screen | sed 's/\x1b\[K/<K>/g; s/\r/<R>/g') == *'<R><K>it runs'* ]]
    run ! grep -aq 'waiting.*it runs' <(tr '\r' '\n' <screen)
}

@test "acquire, hold, refresh and use show it too" {
    rowlock hold a --for 1h --note n
    rowlock hold subject:a --for 1h --note n
    for command in 'acquire --ttl 1m a' 'hold a --note m' \
        'refresh a --max-age 0 -- true' 'use a -- true'; do
        in_columns 200 "$here $command"
        until_true shows "waiting .* for '.*a', 1 of 1 in the queue; held by .* hold since"
        type_in '\003'
        ends_with 130 "$terminal"
    done
    rowlock break --now subject:a
}

@test "it is cut to the width, and what others wrote is escaped" {
    rowlock hold a --for 1h --note "$(printf 'bell \a, line\nrm -rf, \033[2J 日本日本日本日本日本')"
    in_columns 200 "$here run a -- true"
    until_true shows 'bell \\x07, line\\nrm -rf, \\x1b\[2J 日本'
    type_in '\003'
    ends_with 130 "$terminal"
    in_columns 80 "$here run a -- true" # unit/waiting_text_test has every width
    until_true shows "waiting .* for 'a', 1 of 1; .* since [0-9:]*: bell.*…"
    [ "$(lines_drawn | head -n 1 | sed 's/<K>.*//' | wc -L)" -le 77 ]
    type_in '\003'
    ends_with 130 "$terminal"
}

@test "^Z stops the wait, fg continues it and the line, and the status is the command's" {
    rowlock hold a --for 1h --note n
    in_columns 200 "bash --norc --noprofile -i"
    type_in "$here run a -- sh -c 'exit 3'\n"
    until_true shows "for 'a', 1 of 1 in the queue"
    waiting=$(pgrep -x rowlock -P "$(pgrep -P "$terminal" bash)")
    type_in '\032'
    until_true is_stopped "$waiting"
    drawn=$(lines_drawn | wc -l)
    type_in 'fg; echo status $? >status\n'
    until_true is_drawn_again "$drawn"
    rowlock break --now a
    until_true has_text status
    [ "$(cat status)" = 'status 3' ]
    type_in 'exit\n'
}
is_drawn_again() { [ "$(lines_drawn | wc -l)" -gt "$1" ]; }

@test "in the background, with -q and on a dumb terminal there is no line" {
    for line in "bash --norc --noprofile -mc \"$here run a -- true & wait\"" \
        "env TERM=dumb $here run a -- true" "$here run -q a -- true"; do
        rm -f said
        rowlock hold a --for 1h --note n
        in_columns 200 "$line"
        until_true is_waited_for a
        start sh -c "exec $here run --verbose a -- true 2>said"
        until_true has_text said # so the other has waited for more than a second, too
        rowlock break --now a
        ends_with 0 "$terminal"
        ends_with 0 "$started"
        shows_no_line
    done
}
shows_no_line() { ! shows 'waiting .* for'; }

@test "without a terminal: nothing, and with --verbose a message; then none after the wait" {
    rowlock hold a --for 1h --note n
    keep_places a
    start sh -c "exec $here run a -- true 2>silent"
    silent=$started
    until_true is_waited_for a
    start sh -c "exec $here run --verbose a -- true 2>said"
    until_true grep -q "^rowlock: waiting .* for 'a', 2 of 2 in the queue; held by .*: n$" said
    verbose=$started
    [ ! -s silent ]
    [ "$(wc -l <said)" = 1 ]
    for command in 'acquire --ttl 1m' 'hold --note n'; do
        start sh -c "exec $here $command --verbose -w 1h a 2>also"
        until_true grep -q "^rowlock: waiting .* for 'a', 3 of 3 in the queue; held by" also
        kill "$started"
        until_true is_gone "$started"
    done
    if [ "$ROWLOCK_TEST_ENGINE" != sqlite ]; then # the session of the message was closed
        until_true has_few_sessions
    fi
    rowlock break --now a
    ends_with 0 "$verbose"
    ends_with 0 "$silent"
    [ ! -s silent ]
    grep -q acquired said
}

sessions() {
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        sql "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
             AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        ;;
    mariadb)
        sql "SELECT count(*) FROM $processlist
             WHERE db = database() AND user = 'rowlock'"
        ;;
    esac
}
has_few_sessions() { [ "$(sessions)" -le 3 ]; }

@test "a server that refuses the second session: the line is missing, and the wait is as before" {
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] || return 0
    rowlock hold a --for 1h --note n
    touch one-session
    start_proxy
    in_columns 200 "'$ROWLOCK' --db '$proxy_url' run a -- sh -c 'echo it runs; exit 4'"
    until_true has_text refused
    rowlock break --now a
    ends_with 4 "$terminal"
    shows_no_line
    [ "$(tr -d '\r' <screen | sed '1d;$d' | tr -d '\n')" = 'it runs' ]
}
