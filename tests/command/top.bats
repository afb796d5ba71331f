#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# top: one frame without a terminal; on a terminal (a pty of script(1), whose keyboard is descriptor
# 5) keys, signals and size.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: sqlite/native

load lib
load terminal.bash

teardown() {
    exec 5>&-
    end_started
    for name in a b long job:paused; do rowlock break --now "$name" 2>/dev/null || true; done
    for job in failing fine paused; do rowlock jobs "$job" --forget 2>/dev/null || true; done
}

here="'$ROWLOCK' --db '$ROWLOCK_TEST_URL'"
on_screen() { TERM=xterm NO_COLOR=1 at_terminal "stty rows 20 cols 100; $1"; } # LINE
# The last frame: everything after the last jump to the upper left corner.
frame() { tr -d '\000' <screen | sed 's/\x1b\[H/\f/g' | awk 'BEGIN { RS = "\f" } { last = $0 }
    END { print last }' | sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g; s/\r//g'; }
shows() { frame | grep -q -- "$1"; }
shows_not() { ! shows "$1"; }
waits_for() { # NAME
    start_rowlock acquire --ttl 1m "$1"
    until_true is_waited_for "$1"
}
make_scene() { # two queues, one of them longer; jobs of three kinds
    rowlock acquire --ttl 1h --note 'a $(note)' a
    rowlock acquire --ttl 1h long
    waits_for a
    for _ in 1 2; do start_rowlock acquire --ttl 1m long; done
    until_true has_two_waiters
    rowlock job failing --every 1h -- false || true
    rowlock job fine --every 1h -- true
    rowlock job paused --every 1h -- true
    rowlock hold job:paused --note 'ask Ann'
}
has_two_waiters() { [ "$(rowlock ls long | grep -c waiting)" = 2 ]; }

@test "without a terminal: one frame, jobs in trouble first, then the longest queue" {
    make_scene
    run -0 rowlock top
    [[ ${lines[0]} =~ ^rowlock\ top\ .*\ 3\ jobs:\ 1\ failing,\ 1\ paused\ \ by\ queue$ ]]
    [[ ${lines[1]} =~ ^JOB\ +STATE\ +FOR\ +NEXT\ +RUNNING\ +LAST\ +NOTE$ ]]
    [[ ${lines[2]} =~ ^failing\ +failing\ .*\ exit\ 1 ]]
    [[ ${lines[3]} =~ ^paused\ +paused\ .*\ ask\ Ann$ ]]
    [[ ${lines[4]} =~ ^NAME\ +STATE\ +MODE\ +AGE\ +LEFT\ +WHO\ +NOTE$ ]]
    [[ ${lines[5]} =~ ^long\ +held ]]
    [[ ${lines[6]} =~ ^├─\ #1\ +waiting ]]
    [[ ${lines[7]} =~ ^└─\ #2\ +waiting ]]
    [[ ${lines[8]} =~ ^a\ +held\ .*\ a\ \$\(note\)$ ]]
    [[ ${lines[9]} =~ ^└─\ #1\ +waiting ]]
    [[ ${lines[10]} =~ ^job:paused\ +held ]]
    [ ${#lines[@]} = 11 ]
    [[ $output != *$'\033'* ]]
    run rowlock top 'lo*'
    [[ $output == *' 0 jobs  by queue  filter lo'* && $output == *long* && $output != *job:* ]]
    run rowlock top a
    [[ ${lines[2]} =~ ^a\ +held && ${#lines[@]} = 4 ]]
    run rowlock top fail\*
    [[ ${lines[2]} =~ ^failing ]]
    [[ ${lines[3]} == 'no name that is held or waited for matches the filter' ]]
}

@test "JSON: the jobs that are not fine, and the locks" {
    make_scene
    rowlock --json top >all
    cat all
    [ "$(json '$.jobs[0].name' <all)/$(json '$.jobs[1].state' <all)" = failing/paused ]
    [ "$(json_sql "json_array_length(document, '\$.jobs')" <all)" = 2 ]
    [ "$(json_sql "json_array_length(document, '\$.locks')" <all)" = 6 ]
    [ "$(json '$.locks[0].name' <all)/$(json '$.locks[1].state' <all)" = long/waiting ]
    rowlock --json top 'none*' >none
    [ "$(json_sql 'json(document)' <none)" = '{"jobs":[],"locks":[]}' ]
}

@test "wrong usage and an unreachable database" {
    run -64 rowlock top --interval 10ms
    [[ $output == *'at least 500ms'* ]]
    run -64 rowlock top a b
    run -64 rowlock top 'zz['
    [[ $output == *"'zz[' has a '[' without ']' at position 3"* ]]
    run ! "$ROWLOCK" --db sqlite:/nowhere/at/all top
    [[ $output == rowlock:*nowhere* ]]
}

@test "on a terminal: keys filter, sort, pause, help, and quit; the terminal is restored" {
    make_scene
    on_screen "before=\$(stty -g); $here top --interval 500ms; echo status \$? >status
        [ \"\$before\" = \"\$(stty -g)\" ] && touch restored"
    until_true shows '^long .*held'
    shows '^failing .*failing'
    type_in '/'
    until_true shows 'filter: _'
    type_in 'xo\177\177on'
    until_true shows 'filter: on_'
    type_in '\n'
    until_true shows_not '^a .*held'
    shows 'filter \*on\*'
    shows '^long '
    type_in '/\n'
    until_true shows '^a .*held'
    type_in 's'
    until_true shows 'by wait'
    until_true is_first a
    type_in 's'
    until_true shows 'by name'
    type_in '\033[A' # has no meaning
    type_in '?'
    until_true shows 'this help'
    shows 'any key closes the help  ^C quit'
    shows_not 'q quit'
    type_in ' '
    until_true shows_not 'this help'
    for key in q '\033[B'; do # q, too, only closes it
        type_in '?'
        until_true shows 'this help'
        type_in "$key"
        until_true shows_not 'this help'
        shows 'q quit'
    done
    type_in 'p'
    until_true shows PAUSED
    rowlock break --now job:paused
    type_in 'p'
    until_true shows_not PAUSED
    until_true shows_not '^job:paused'
    type_in 'q'
    ends_with 0 "$terminal"
    [ "$(cat status)" = 'status 0' ]
    [ -e restored ]
    tail -c 100 screen | grep -aq '?1049l'
}
is_first() { [ "$(frame | sed -n '/^NAME/{n;p;}' | cut -d' ' -f1)" = "$1" ]; }

@test "a frame has the size of the terminal, and follows it" {
    for name in a long; do rowlock acquire --ttl 1h "$name"; done
    rowlock acquire --ttl 1h --note "$(printf '\033]0;title\007%0200d' 0)" b
    on_screen "stty rows 12 cols 60; exec $here top --interval 500ms"
    until_true shows '^b .*held'
    [ "$(frame | wc -l)" = 12 ]
    [ "$(frame | wc -L)" -le 60 ]
    run ! grep -aq ']0;title' screen
    tty=/proc/$(pgrep -x rowlock -P "$(pgrep -P "$terminal")" || pgrep -P "$terminal")/fd/0
    stty rows 30 cols 150 <"$tty"
    until_true is_wide
    type_in 'q'
    ends_with 0 "$terminal"
}
is_wide() { [ "$(frame | wc -l)" = 30 ] && [ "$(frame | wc -L)" -gt 60 ]; }

@test "^C, TERM and ^Z: the terminal is restored, and fg takes it again" {
    rowlock acquire --ttl 1h a
    for how in key TERM; do
        on_screen "before=\$(stty -g); trap : INT; $here top --interval 500ms
            echo \$? >status; [ \"\$before\" = \"\$(stty -g)\" ] && touch restored-$how"
        until_true shows '^a .*held'
        if [ $how = key ]; then
            type_in '\003'
        else
            kill "$(pgrep -x rowlock -g "$(foreground)")"
        fi
        until_true is_gone "$terminal"
        [ -e restored-$how ]
        tail -c 200 screen | grep -aq '?1049l'
    done
    on_screen "exec bash --norc --noprofile -i"
    type_in "before=\$(stty -g); $here top --interval 500ms\n"
    until_true shows '^a .*held'
    type_in '\032'
    until_true is_left
    type_in 'fg\n'
    until_true is_taken_twice
    type_in 'q'
    type_in 'exit\n'
}
foreground() { ps -o tpgid= -p "$(pgrep -P "$terminal")" | tr -d ' '; }
is_left() { [ "$(grep -ac '?1049l' screen)" -ge 1 ]; }
is_taken_twice() { [ "$(grep -ao '?1049h' screen | wc -l)" = 2 ]; }
