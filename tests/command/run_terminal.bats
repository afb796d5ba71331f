#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# run under a terminal: the command takes the place that a shell gives to its own commands. The
# terminal is a pty of script(1), whose keyboard is descriptor 5.
# Runs on: sqlite/native postgresql/native
# Quick: never
# Rest: sqlite/native, because neither the terminal nor the stand-in depends on the engine

load lib
load run.bash
load terminal.bash

# tests/run sets $SHELL to the simplest one: it stays in front of its command, and a ^C ends it,
# unless the line begins with exec.
shows() { grep -q -- "$1" screen 2>/dev/null; }
run_line="'$ROWLOCK' --db '$ROWLOCK_TEST_URL' run"
in_shell() { # LINE: types it into an interactive bash
    at_terminal "exec bash --norc --noprofile -i"
    type_in "$1\n"
}
fg_ends_with() { # STATUS: of the command that was stopped; the shell ends too
    type_in 'fg; echo status $? >status; exit\n'
    until_true has_text status
    [ "$(cat status)" = "status $1" ]
}
is_asleep() { [ "$(state_of "$1")" = S ]; }
sleeps_on() { # it has arrived, and is not only on its way
    local look
    for look in 1 2 3 4 5; do
        is_asleep "$1" || return 1
        sleep 0.02
    done
}
is_running() { [[ $(state_of "$1") == [RS] ]]; }
group_of() { ps -o pgid= -p "$1" | tr -d ' '; }
foreground_of() { ps -o tpgid= -p "$1" | tr -d ' '; }

until_stop='until [ -e stop ]; do sleep 0.02; done'
# A command that records each INT. USR1 ends it; it arrives in the same way as an INT from rowlock.
counts='$SIG{INT} = sub { open my $seen, ">>", "seen"; print $seen "INT\n" };
    $SIG{USR1} = sub { exit 3 };
    open my $file, ">", "command.tmp"; print $file $$; close $file; rename "command.tmp", "command";
    sleep 1 while 1'

@test "^C reaches the command once, and rowlock ends like the command" {
    echo "$counts" >counts
    at_terminal "exec $run_line a -- perl counts"
    until_true is_there command
    type_in '\003'
    until_true has_text seen
    kill -s USR1 "$(parent_of "$(parent_of "$(cat command)")")"
    ends_with 3 "$terminal"
    [ "$(cat seen)" = INT ]
}

# Stops rowlock when it has a guard, before it knows whether there is a command.
late='my $child = fork; exec @ARGV if !$child;
    $SIG{INT} = "IGNORE"; my $guard;
    until ($guard) {
        open my $children, "<", "/proc/$child/task/$child/children"; $guard = <$children> }
    kill "STOP", $child;
    open my $file, ">", "pid.tmp"; print $file $child; close $file; rename "pid.tmp", "pid";
    waitpid $child, 0; exit($? & 127 ? 128 + ($? & 127) : $? >> 8)'
has_child() { pgrep -P "$1" >/dev/null; }

@test "^C before rowlock knows that there is a command reaches it once" {
    echo "$late" >late
    echo "$counts" >counts
    at_terminal "exec perl late $run_line a -- perl counts"
    until_true is_there pid
    rowlock=$(cat pid)
    until_true is_stopped "$rowlock"
    guard=$(guard_of "$rowlock")
    until_true has_child "$guard"
    until_true sleeps_on "$(pgrep -P "$guard")"
    type_in '\003'
    until_true has_int ShdPnd "$rowlock"
    kill -s USR1 "$rowlock"
    kill -s CONT "$rowlock"
    until_true is_gone "$guard"
    if [ -e command ]; then # this attempt was too late
        ends_with 3 "$terminal"
        [ "$(cat seen)" = INT ]
    else
        ends_with 130 "$terminal"
        [ ! -e seen ]
    fi
    is_free a
}

# A shell with job control that ignores a child that stops. (A group without such a parent gets HUP
# when it stops.)
shell='use POSIX; my $child = fork;
    if (!$child) { setpgid(0, 0); $SIG{TTOU} = "IGNORE"; tcsetpgrp(0, $$);
        $SIG{TTOU} = "DEFAULT"; exec @ARGV }
    waitpid $child, 0; exit($? & 127 ? 128 + ($? & 127) : $? >> 8)'
ends_at_once='$SIG{INT} = sub { exit 3 };
    open my $file, ">", "command.tmp"; print $file $$; close $file; rename "command.tmp", "command";
    sleep 1 while 1'

@test "^C ends the command before rowlock looks: lease released, the status the command's" {
    echo "$shell" >shell
    echo "$ends_at_once" >ends-at-once
    at_terminal "exec perl shell $run_line a -- perl ends-at-once"
    until_true is_there command
    guard=$(parent_of "$(cat command)")
    rowlock=$(parent_of "$guard")
    kill -s STOP "$rowlock"
    until_true is_stopped "$rowlock"
    type_in '\003'
    until_true is_gone "$guard" # it has reported the end
    kill -s CONT "$rowlock"
    ends_with 3 "$terminal"
    is_free a
}

# A rowlock whose standard error blocks until the fifo is read, so that it stops at its first
# message.
stuck='use Fcntl; sysopen my $said, "said", O_RDWR | O_NONBLOCK; my $n;
    do { $n = syswrite $said, "." x 4096 } while $n; do { $n = syswrite $said, "." } while $n;
    fcntl $said, F_SETFL, O_RDWR; open STDERR, ">&", $said;
    open my $file, ">", "pid"; print $file $$; close $file; exec @ARGV'
stuck_at_terminal() { # COMMAND
    echo "$stuck" >stuck
    mkfifo said
    at_terminal "exec perl stuck $1"
    until_true has_text pid
    until_true has_int SigBlk "$(cat pid)"
}
until_stuck() { until_true sleeps_on "$(cat pid)"; } # before that, ^C ends the wait for the lock
has_int() { # SigBlk | ShdPnd, PID: INT is signal 2
    local signals
    signals=$(sed -n "s/^$1:[[:space:]]*//p" "/proc/$2/status") && [ $((0x0$signals & 2)) != 0 ]
}

@test "^C between the grant and the command's start: no command runs, the lease is released" {
    stuck_at_terminal "$run_line --verbose a -- touch ran"
    until_true is_held a
    until_stuck
    type_in '\003'
    until_true has_int ShdPnd "$(cat pid)"
    start sh -c 'exec cat said >/dev/null'
    ends_with 130 "$terminal"
    [ ! -e ran ]
    is_free a
}

@test "^C while rowlock reports a busy lock ends it by the signal, as a shell's loop expects" {
    token=$(rowlock acquire --ttl 5m busy)
    stuck_at_terminal "$run_line -n busy -- touch ran"
    until_stuck
    type_in '\003'
    until_true has_int ShdPnd "$(cat pid)"
    start sh -c 'exec cat said >/dev/null'
    ends_with 130 "$terminal"
    rowlock release busy --token "$token"
}

@test "fg, and the guard reports late that the command is awake: rowlock stays awake too" {
    in_shell "$run_line a -- bash -c '$(pid_into command); $until_stop; exit 5'"
    until_true is_there command
    command=$(cat command)
    guard=$(parent_of "$command")
    rowlock=$(parent_of "$guard")
    type_in '\032'
    until_true is_stopped "$command"
    until_true is_stopped "$rowlock"
    until_true is_asleep "$guard" # it has reported that
    kill -s STOP "$guard"
    until_true is_stopped "$guard"
    type_in 'fg; echo status $? >>status\n'
    until_true is_running "$command"
    sleep 0.5 # before that, rowlock checks that all are awake
    kill -s CONT "$guard"
    touch stop
    until_true has_text status
    [ "$(cat status)" = "status 5" ]
    type_in 'exit\n'
    ends_with 0 "$terminal"
}

# Behaves like an editor in job control: it reads the keyboard in raw mode, and handles ^Z as nano
# and mutt do ("group") or as less does ("self"). It records how often it was continued. vi itself
# sends TSTP to its group.
editor='use POSIX; my ($how) = @ARGV; system "stty raw -echo";
    open my $file, ">", "editor.tmp"; print $file $$;
    close $file; rename "editor.tmp", "editor"; my $times = 0;
    while (sysread STDIN, my $key, 1) {
        last if $key eq "q";
        next if $key ne "\032";
        system "stty sane";
        kill "STOP", $how eq "self" ? $$ : 0;
        system "stty raw -echo";
        open my $seen, ">>", "continued"; print $seen ++$times, "\n"; close $seen;
    }
    system "stty sane"; exit 7'
until_renewed() { # TIMES
    local n
    for n in $(seq "$1"); do until_true expires_later_than "$(item a '$[0].expires')"; done
}
has_stand_in() { [ -n "$(pgrep -P "$1")" ] && [ "$(pgrep -P "$1" | wc -l)" = 2 ]; } # GUARD
has_no_stand_in() { ! has_stand_in "$1"; }
has_line() { grep -qx "$1" "$2" 2>/dev/null; }

survives_suspension() { # HOW
    echo "$editor" >editor.pl
    in_shell "$run_line --ttl 3s a -- perl editor.pl $1"
    until_true is_there editor
    editor=$(cat editor)
    rowlock=$(parent_of "$(parent_of "$editor")")
    [ "$(group_of "$editor")" = "$(foreground_of "$editor")" ]
    for round in 1 2; do
        type_in '\032'
        until_true is_stopped "$editor"
        until_true is_stopped "$rowlock"
        until_renewed 4 # that is longer than the lease lasts
        is_held a
        until_true is_stopped "$editor"
        is_stopped "$rowlock"
        type_in 'fg; echo status $? >>status\n'
        until_true has_line "$round" continued
        until_true is_running "$rowlock"
        until_renewed 1
        until_true has_no_stand_in "$(parent_of "$editor")"
    done
    type_in 'q'
    until_true has_line 'status 7' status
    type_in 'exit\n'
    ends_with 0 "$terminal"
    is_free a
}
@test "p5: an editor survives ^Z for longer than its lease: it stops its group, as nano does" {
    survives_suspension group
}
@test "p5: an editor survives ^Z for longer than its lease, and fg: it stops itself, as less does" {
    survives_suspension self
}

@test "p5: suspended with ^Z, no renewal succeeds: the command is dead before the next grant" {
    stubborn="trap \"\" TERM; sleep 970 & $(pid_into command); while :; do wait; done"
    in_shell "$run_line --ttl 5s a -- bash -c '$stubborn'"
    until_true is_there command
    command=$(cat command)
    guard=$(parent_of "$command")
    start_next a command
    type_in '\032'
    until_true is_stopped "$command"
    until_true is_stopped "$(parent_of "$guard")"
    until_true pgrep -P "$guard" -x rowlock-stand-i
    kill -s STOP "$(pgrep -P "$guard" -x rowlock-stand-i)"
    next_has_passed
    is_gone "$command"
    fg_ends_with 123
    ends_with 0 "$terminal"
}

@test "p5: broken while it is suspended with ^Z: the command is ended, and fg shows it" {
    in_shell "$run_line --ttl 5s a -- bash -c '$(pid_into command); exec sleep 970'"
    until_true is_there command
    type_in '\032'
    until_true is_stopped "$(cat command)"
    until_true is_stopped "$(parent_of "$(parent_of "$(cat command)")")"
    rowlock break a
    until_true is_gone "$(cat command)"
    until_true shows "the lock on 'a' is lost while the command is stopped"
    fg_ends_with 123
}

@test "p5: suspended with ^Z, and rowlock is killed: the command and the stand-in end" {
    in_shell "$run_line a -- bash -c '$(pid_into command); exec sleep 970'"
    until_true is_there command
    guard=$(parent_of "$(cat command)")
    rowlock=$(parent_of "$guard")
    type_in '\032'
    until_true is_stopped "$rowlock"
    until_true has_stand_in "$guard"
    stand_in=$(pgrep -P "$guard" | grep -vx "$(cat command)")
    kill -s KILL "$rowlock"
    until_true is_gone "$(cat command)"
    until_true is_gone "$stand_in"
    type_in 'exit; exit\n'
}

@test "a command that ignores ^Z continues, and so does rowlock" {
    in_shell "$run_line --ttl 3s a -- perl -e '\$SIG{TSTP} = q(IGNORE);
        open F, q(>), q(ready); close F;
        sleep 1 until -e q(stop); exit 4'; echo status \$? >status"
    until_true is_there ready
    type_in '\032'
    until_renewed 2
    touch stop
    until_true has_line 'status 4' status
    type_in 'exit\n'
    ends_with 0 "$terminal"
}

@test "a command that stops itself stops rowlock, and fg wakes both" {
    in_shell "$run_line a -- bash -c '$(pid_into command); kill -STOP \$\$; exit 6'"
    until_true is_there command
    until_true is_stopped "$(parent_of "$(parent_of "$(cat command)")")"
    fg_ends_with 6
}

@test "a pipe into a pager that reads the keyboard" {
    at_terminal "exec sh -c 'echo in the pipe |
        $run_line a -- sh -c \"cat; read key </dev/tty; echo key=\\\$key >key\"'"
    until_true shows 'in the pipe'
    type_in 'x\n'
    ends_with 0 "$terminal"
    [ "$(cat key)" = key=x ]
}

@test "the output goes into a pipe, and a reader that closes it ends the command" {
    at_terminal "exec bash -c '$run_line a -- yes | head -n 1; echo \${PIPESTATUS[0]} >status'"
    until_true has_text status
    [ "$(cat status)" = 141 ]
    is_free a
}

@test "p5: an editor at the keyboard is suspended beyond its lease, and writes its file after fg" {
    echo 'who held it?' >file
    TERM=vt100 in_shell "$run_line --ttl 3s a -- vi -u NONE file"
    until_true shows 'who held it'
    type_in '\032'
    rowlock=$(item a '$[0].pid')
    until_true is_stopped "$rowlock"
    until_renewed 4
    type_in 'fg; echo status $? >status\n'
    until_true is_asleep "$rowlock"
    type_in 'onobody\033'
    type_in ':wq\r'
    until_true has_line 'status 0' status
    diff file - <<<$'who held it?\nnobody'
    type_in 'exit\n'
    ends_with 0 "$terminal"
    is_free a
}

@test "the terminal hangs up: the command ends, the lease is released" {
    at_terminal "exec $run_line a -- sh -c '$(pid_into command); exec sleep 970'"
    until_true is_there command
    kill -s KILL "$terminal"
    until_true is_gone "$(cat command)"
    until_true is_free a
}

@test "--foreground keeps the caller's group without a terminal; else the command has its own" {
    groups='ps -o pgid= -p $$; ps -o pgid= -p $(ps -o ppid= -p $PPID)' # rowlock, behind the guard
    setsid "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --foreground a -- sh -c "$groups" >same \
        </dev/null
    [ "$(wc -l <same)" = 2 ]
    [ "$(sort -u same | wc -l)" = 1 ]
    setsid "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run a -- sh -c "$groups" >own </dev/null
    [ "$(sort -u own | wc -l)" = 2 ]
}
