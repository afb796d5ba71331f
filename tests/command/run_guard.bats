#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# run: the guard between rowlock and the command, independent of any server: the processes that it
# ends, those that it leaves alone, and a file that cannot be written. run_killed.bats tests stopped
# and killed processes.
# Runs on: sqlite/native

load lib
load run.bash

@test "p5: the database cannot be written: the command is dead before the lease can pass" {
    start_tree --ttl 24s a # long enough to see below that it is still held
    # a transaction that holds the file's only write lock until its input ends
    open_client
    in_client 'PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE'
    until_true tree_is_gone
    is_held a
    ends_with 123 "$holder"
    close_client
    grep -q \
        "^rowlock: the lock on 'a' is lost, stopping the command: the database does not answer" err
}

# ---- the command's end -------------------------------------------------------------------------

@test "processes that outlive the command are counted, and left alone" {
    start_leased a -- sh -c "setsid sh -c '$(pid_into daemon); exec sleep 970' &
        until [ -e daemon ]; do sleep 0.02; done"
    ends_with 0 "$started"
    is_there_again "$(cat daemon)"
    kill -s KILL "$(cat daemon)"
    left="rowlock: 1 process that the command started runs on without the lock on 'a':"
    grep -qx "$left $(cat daemon)" err
    is_free a
}

is_reaped() { [ ! -e "/proc/$1" ]; }
has_no_usr1() { # pending: it is signal 10
    local signals
    signals=$(sed -n 's/^ShdPnd:[[:space:]]*//p' "/proc/$1/status") &&
        [ $((0x0$signals & 512)) = 0 ]
}

@test "a signal just after the command's end does not change its status" {
    start_leased a -- sh -c "setsid sh -c '$(pid_into daemon); exec sleep 970' & $(pid_into command)
        until [ -e daemon ] && [ -e stop ]; do sleep 0.02; done; exit 4"
    until_true is_there command
    guard=$(guard_of "$started")
    touch stop
    until_true is_reaped "$(cat command)"
    kill -s STOP "$guard" # while it looks for processes that the command left behind
    kill -s USR1 "$started"
    until_true has_no_usr1 "$started"
    kill -s STOP "$started"
    kill -s CONT "$guard"
    until_true is_gone "$guard"
    kill -s CONT "$started"
    ends_with 4 "$started"
    kill -s KILL "$(cat daemon)"
    is_free a
}

@test "its messages are not read: the lease is released, and the status is the command's" {
    mkfifo said
    exec 5<>said
    start sh -c 'exec "$0" --db "$1" run a -- sh -c "$2" 2>said 5>&-' "$ROWLOCK" \
        "$ROWLOCK_TEST_URL" \
        "setsid sh -c '$(pid_into daemon); exec sleep 970' 2>&- & exec 2>&-
        until [ -e stop ]; do sleep 0.02; done; exit 4"
    holder=$started
    until_true is_there daemon
    exec 5>&-
    touch stop
    ends_with 4 "$holder"
    kill -s KILL "$(cat daemon)"
    is_free a
}

@test "a signal during the release ends rowlock, and the lease is released" {
    start_stoppable --ttl 1m a
    open_client
    in_client 'PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE'
    touch stop
    until_true is_alone "$holder"
    kill -s STOP "$holder"
    kill -s TERM "$holder"
    close_client
    kill -s CONT "$holder"
    ends_with 143 "$holder"
    is_free a
}
is_alone() { [ -z "$(pgrep -P "$1")" ]; } # the guard has ended: the next signal is for rowlock

@test "a process that dies with the command does not count as a survivor" {
    start_tree a
    kill -s KILL "$(cat daemon)"
    end_by_term "$holder"
    run ! grep -q "without the lock" err
}

# When rowlock is killed, the guard sends TERM at once, and grants all of --kill-after. The lease
# stays.

@test "the command's reaction to TERM is not disturbed before --kill-after" {
    start_leased --ttl 60s --kill-after 15s "$BATS_TEST_NUMBER" -- perl -e \
        '$SIG{TERM} = sub { system "sleep 0.2; touch cleaned"; exit 0 };
         open my $file, ">", "ready"; sleep 1 while 1'
    until_true is_there ready
    guard=$(guard_of "$started")
    kill -s KILL "$started"
    until_true is_gone "$guard"
    [ -e cleaned ]
}

has_lines() { [ "$(grep -c '' "$1" 2>/dev/null)" -ge "$2" ]; }

@test "TERM reaches each process once" {
    cat >member <<'MEMBER'
$SIG{TERM} = sub { open my $seen, ">>", "seen"; print $seen "$ARGV[0]\n" };
open my $file, ">", $ARGV[0];
select undef, undef, undef, 0.02 until -e "stop";
MEMBER
    start_leased --ttl 60s --kill-after 15s "$BATS_TEST_NUMBER" -- \
        sh -c 'perl member grandchild & setsid perl member daemon & exec perl member command'
    for file in command grandchild daemon; do until_true is_there $file; done
    guard=$(guard_of "$started")
    kill -s KILL "$started"
    until_true has_lines seen 3
    touch stop
    until_true is_gone "$guard"
    [ "$(sort seen)" = command$'\n'daemon$'\n'grandchild ]
}

@test "an idle run needs little memory" {
    start_tree a
    guard=$(guard_of "$holder")
    total=0
    for pid in "$holder" "$guard"; do
        total=$((total + $(awk '/^Pss:/ { n += $2 } END { print n }' "/proc/$pid/smaps_rollup")))
    done
    echo "$total KiB"
    [ -n "${SANITIZE:-}" ] || [ $total -le 8192 ]
    end_by_term "$holder"
    kill -s KILL "$(cat daemon)" # which outlives its command
}

# ---- the file of SQLite ------------------------------------------------------------------------

of_file() { ROWLOCK_TEST_URL=sqlite:$PWD/own.db "$@"; }

@test "p5: the database file is replaced while a command runs: 123, and the command is ended" {
    of_file start_leased --ttl 3s a -- sh -c "$(pid_into command); exec sleep 970"
    holder=$started
    until_true is_there command
    of_file start_leased a -- touch never
    waiter=$started
    until_true of_file is_waited_for a
    "$ROWLOCK" --db "sqlite:$PWD/new.db" run a -- true
    mv new.db own.db
    ends_with 123 "$holder"
    is_gone "$(cat command)"
    ends_with 69 "$waiter"
    [ ! -e never ]
    grep "^rowlock: the lock on 'a' is lost, stopping the command: .*deleted or replaced" err
    grep "^rowlock: .*'$PWD/own.db' .*was deleted or replaced while it was open" err
}

@test "p1: a database file with a second path is refused: hard links, a mount of the file alone" {
    local private=unshare refusal
    "$ROWLOCK" --db "sqlite:$PWD/own.db" acquire --ttl 5m a
    ln own.db linked.db
    for path in own.db linked.db "linked.db?mode=rw"; do
        run -69 "$ROWLOCK" --db "sqlite:$PWD/$path" run -n a -- touch never
        [[ $output == *"${path%%\?*}' has 2 hard links"*"find / -xdev -samefile"* ]]
    done
    rm linked.db
    run -75 "$ROWLOCK" --db "sqlite:$PWD/own.db" run -n a -- touch never

    mkdir other
    touch other/own.db
    [ "$(id -u)" = 0 ] || private="$private --user --map-root-user"
    refusal=$($private --mount true 2>&1) || skip "this machine refuses a mount: $refusal"
    run -69 $private --mount sh -c 'mount --bind own.db other/own.db &&
        exec "$0" --db "sqlite:$PWD/other/own.db" run -n a -- touch never' "$ROWLOCK"
    [[ $output == *"/other/own.db' is mounted without its folder"*"mount its folder instead"* ]]
    run -75 $private --mount sh -c 'mount --bind . other &&
        exec "$0" --db "sqlite:$PWD/other/own.db" run -n a -- touch never' "$ROWLOCK"
    [ ! -e never ]
}

@test "p5: the database file is deleted while a command runs, and the command ends first: 123" {
    of_file start_stoppable --ttl 60s a
    rm own.db
    touch stop
    ends_with 123 "$started"
    [ ! -e own.db ]
}
