#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# run when rowlock or its guard is stopped or killed. In every state of the connection to the
# database, the command and all its descendants are dead before the lease can pass on, and the
# caller's processes live.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: sqlite/native
# Rest: sqlite/native: the guard has no database; run_frozen runs it on servers

load lib
load run.bash

# ---- rowlock -----------------------------------------------------------------------------------

@test "p5: rowlock is killed: no process survives, and only then the next waiter gets the lock" {
    start_tree --ttl 6s a
    start_next a command grandchild daemon
    kill -s KILL "$holder"
    until_true tree_is_gone
    next_has_passed
}

@test "p5: rowlock is killed: a shell's 'sleep; true' does not survive, nor one that ignores TERM" {
    start_leased --ttl 6s a -- sh -c "echo \$\$ >shell
        sh -c '$(pid_into sleeper); exec sleep 970'; true"
    until_true is_there sleeper
    kill -s KILL "$started"
    until_true is_gone "$(cat sleeper)"
    until_true is_gone "$(cat shell)"
    until_true is_free a
    on_term='trap "" TERM'
    start_tree --ttl 6s a
    start_next a command grandchild daemon
    kill -s KILL "$holder"
    until_true tree_is_gone
    next_has_passed
}

@test "p5: rowlock's whole process group is killed: the guard is not part of it" {
    start setsid "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --ttl 6s a -- sh -c \
        "sh -c '$(pid_into sleeper); exec sleep 970'; true"
    until_true is_there sleeper
    parent=$(parent_of "$(parent_of "$(parent_of "$(cat sleeper)")")") # behind shell and guard
    kill -s KILL -- "-$(ps -o pgid= -p "$parent" | tr -d " ")"
    until_true is_gone "$(cat sleeper)"
}

@test "p5: rowlock is stopped: the command is dead before the next waiter has the lock" {
    start_tree --ttl 6s a
    start_next a command grandchild daemon
    kill -s STOP "$holder"
    next_has_passed
    tree_is_gone
    kill -s CONT "$holder"
    ends_with 123 "$holder"
}

@test "p5: rowlock is stopped, and the command is stopped too and ignores TERM" {
    on_term='trap "" TERM'
    start_tree --ttl 6s a
    start_next a command grandchild daemon
    kill -s STOP "$(cat command)" "$(cat grandchild)" "$holder"
    next_has_passed
    tree_is_gone
    kill -s CONT "$holder"
    ends_with 123 "$holder"
}

@test "p5: rowlock and its guard are stopped, and rowlock is killed: the guard ends the command" {
    # Below another guard, which is of the same session and becomes the parent: like process 1 of
    # many containers. Otherwise the kernel wakes the guard.
    start "$ROWLOCK" --db "sqlite:$PWD/outer.db" run outer -- bash -c '"$@" & exec sleep 970' - \
        "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --ttl 10m stopped -- \
        sh -c "$(pid_into sleeper); exec sleep 970"
    until_true is_there sleeper
    guard=$(parent_of "$(cat sleeper)")
    parent=$(parent_of "$guard")
    kill -s STOP "$parent" "$guard"
    until_true is_stopped "$guard"
    kill -s KILL "$parent"
    until_true is_gone "$(cat sleeper)"
}

@test "rowlock is stopped only briefly: nothing happens" {
    start_tree --ttl 30s a
    kill -s STOP "$holder"
    until_true is_stopped "$holder"
    kill -s CONT "$holder"
    end_by_term "$holder"
    kill -s KILL "$(cat daemon)" # which outlives its command
}

@test "rowlock wakes after the lease's end, and --max-run has ended the command: 124" {
    start_tree --ttl 8s --max-run 3s a
    kill -s STOP "$holder"
    until_true tree_is_gone
    until_true has_expired a
    kill -s CONT "$holder"
    ends_with 124 "$holder"
}
has_expired() { is_free "$1"; }

# ---- the guard ---------------------------------------------------------------------------------

@test "the guard is killed: 125, all processes are ended, the lease is released" {
    start_tree a
    kill -s KILL "$(guard_of "$holder")"
    ends_with 125 "$holder"
    until_true tree_is_gone
    is_free a
    grep -q 'guard process was killed' err
}

@test "p5: the guard is stopped and the lease lost: rowlock ends the command itself" {
    start_tree --ttl 6s a
    kill -s STOP "$(guard_of "$holder")"
    rowlock break --now a
    ends_with 123 "$holder"
    until_true tree_is_gone
}

@test "the guard comes late to a command that has ended: its own status, its descendants live on" {
    for limit in 3 20 100; do # longer, if the command was ended before it could end by itself
        began=$SECONDS
        rm -f command daemon stop
        start_leased --max-run ${limit}s a -- sh -c "
            setsid sh -c '$(pid_into daemon); exec sleep 970' &
            $(pid_into command); until [ -e stop ]; do sleep 0.02; done; exit 4"
        holder=$started
        until_true is_there command
        until_true is_there daemon
        guard=$(guard_of "$holder" || true)
        if [ -n "$guard" ] && kill -s STOP "$guard"; then
            until_true is_stopped "$guard"
            touch stop
            until_true is_gone "$(cat command)"
            [ $((SECONDS - began)) -ge $limit ] || break
            kill -s CONT "$guard"
        fi
        wait "$holder" || true
        kill -s KILL "$(cat daemon)" 2>/dev/null || true
    done
    sleep "$limit"
    kill -s CONT "$guard"
    ends_with 4 "$holder"
    is_there_again "$(cat daemon)"
    kill -s KILL "$(cat daemon)"
    is_free a
}

@test "the guard ignores all signals but KILL and STOP, and keeps no descriptor of the caller" {
    start_tree a
    guard=$(guard_of "$holder")
    for signal in TERM INT HUP QUIT USR1 USR2 TSTP PIPE ALRM; do kill -s $signal "$guard"; done
    is_there_again "$guard"
    run ! is_stopped "$guard"
    [ "$(cat "/proc/$guard/comm")" = rowlock-guard ]
    [ "$(ls "/proc/$guard/fd" | wc -l)" = 4 ] # standard error, the socket, a timer, its children
    end_by_term "$holder"
    kill -s KILL "$(cat daemon)" # which outlives its command
}

@test "the command has the caller's descriptors, and no other" {
    # not by its own check
    show=(find /proc/self/fd -mindepth 1 -not -lname '/proc/*' -printf '%f %l\n')
    "${show[@]}" >fds 7</dev/null
    mv fds direct
    leased a -- "${show[@]}" >fds 7</dev/null
    grep -qx '7 /dev/null' fds
    diff <(sort direct) <(sort fds)
}

# ---- the caller's processes --------------------------------------------------------------------

@test "the caller's other processes live, in any group, also earlier children of this process" {
    start setsid bash -c "
        sh -c '$(pid_into beside); exec sleep 970' &
        exec '$ROWLOCK' --db '$ROWLOCK_TEST_URL' run --foreground --ttl 6s a -- \
            sh -c '$(pid_into command); sleep 970; true'"
    until_true is_there command
    until_true is_there beside
    rowlock break --now a
    until_true is_gone "$(cat command)"
    is_there_again "$(cat beside)"
    kill -s KILL "$(cat beside)"
}

@test "the guard is killed, and the caller's child lives" {
    start bash -c "
        sh -c '$(pid_into beside); exec sleep 970' &
        exec '$ROWLOCK' --db '$ROWLOCK_TEST_URL' run a -- \
            sh -c '$(pid_into command); exec sleep 970'"
    holder=$started
    until_true is_there command
    until_true is_there beside
    kill -s KILL "$(parent_of "$(cat command)")"
    ends_with 125 "$holder"
    until_true is_gone "$(cat command)"
    is_there_again "$(cat beside)"
    kill -s KILL "$(cat beside)"
}
