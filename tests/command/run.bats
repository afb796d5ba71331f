#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# run --tx: a command under the lock of a transaction.
# Runs on: postgresql mariadb
# Quick: postgresql/native

load lib

held() { rowlock run -n --tx "$@" -- true; }
# If InnoDB finds a deleted but unpurged row of the name, it also locks the gap to the next row. A
# name may then have to wait for its neighbour. This is a known weakness of this technique there.
neighbours_meet() { [ "$ROWLOCK_TEST_ENGINE/$ROWLOCK_TEST_TECHNIQUE" = mariadb/insert ]; }

# ---- the command -------------------------------------------------------------------------------

@test "a broken pipe ends the command's own commands: their signals are not the client library's" {
    run -0 rowlock run --tx a -c 'grep SigIgn: /proc/self/status; yes 2>&1 | head -n 1'
    [ "${lines[1]}" = y ]
    [ ${#lines[@]} = 2 ]
    ignored=$(grep SigIgn: /proc/self/status)
    # SIGPIPE
    [ $((16#${lines[0]##*[^0-9a-f]} & 16#1000)) = $((16#${ignored##*[^0-9a-f]} & 16#1000)) ]
}

@test "standard input and output are the caller's, and rowlock's descriptors are closed" {
    run bash -c 'echo through | "$0" --db "$ROWLOCK_TEST_URL" run --tx a -- cat' "$ROWLOCK"
    [ "$output" = through ]
    show='for f in /proc/$$/fd/*; do echo "${f##*/}"; done'
    bash -c "$show" >direct 7</dev/null
    rowlock run --tx a -- bash -c "$show" >below 7</dev/null
    diff direct below
    grep -qx 7 below
}

@test "the command can read the names and the held locks" {
    run rowlock run --tx one 'two ü' -- sh -c 'echo "$ROWLOCK_NAME"; echo "$ROWLOCK_HELD"'
    [ "${lines[0]}" = one ]
    [ "${lines[1]}" = 'two ü' ]
    [ "${lines[2]}" = "6f6e65:x 74776f20c3bc:x" ]
}

@test "the command's words are its own; options of rowlock may come after names" {
    run -0 rowlock run a --tx b -n -- echo --tx -n --db x
    [ "$output" = "--tx -n --db x" ]
}

# ---- the lock ----------------------------------------------------------------------------------

@test "the lock is held while the command runs, and free when it has ended; -E chooses the status" {
    hold a
    run -9 held -E 9 a
    run -75 held a
    [[ $output == "rowlock: 'a' is held"* ]]
    neighbours_meet || held b
    let_go
    held a
}

@test "-s shares, -x does not" {
    [ "$ROWLOCK_TEST_TECHNIQUE" != insert ] || return 0
    hold a -s
    held -s a
    held --shared a
    for alone in -x -e --exclusive; do
        run -75 held "$alone" a
    done
    let_go
}

@test "-w limits the wait, and the message names the holder" {
    hold a
    run -75 rowlock run --tx -w 2 a -- touch ran
    [ ! -e ran ]
    [[ $output == *"'a' is held by"*"not acquired in time" ]]
    let_go
}

@test "a waiter gets the lock when it is free, and --verbose prints how long it waited" {
    hold a
    start_rowlock run --tx -w 1h --verbose a -- touch ran
    waiter=$started
    until_true somebody_waits
    [ ! -e ran ]
    let_go
    wait "$waiter"
    [ -e ran ]
    grep -qE "^rowlock: 'a' acquired after [0-9]+ ms$" err
}

@test "a signal ends the wait, and rowlock by that signal" {
    for signal in 15 2; do
        hold a
        rm -f ended
        (how_it_ended env --default-signal=INT,QUIT sh -c 'echo $$ >waiter; exec "$@"' sh \
            "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx a -- touch ran >ended 3>&- 4>&-) &
        job=$!
        all_started+=("$job")
        until_true somebody_waits
        kill -s "$signal" "$(cat waiter)"
        wait "$job"
        [ "$(cat ended)" = "signal $signal" ]
        [ ! -e ran ]
        let_go
    done
}

@test "a lock that an ancestor holds is refused at once" {
    run -75 rowlock run --tx a -- "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx a -- true
    [[ $output == *"held by your own ancestor"* ]]
    neighbours_meet && return
    run -9 rowlock run --tx a b -- "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx c -- \
        "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx -E 9 d b -- true
    [[ $output == *"'b' is held by your own ancestor"* ]]
    run -0 rowlock run --tx a -- "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx ab -- echo fine
    [ "$output" = fine ]
}

@test "a daemon that outlived the command of the transaction waits for the lock as any caller" {
    rowlock run --tx a -- sh -c 'setsid sh -c "echo \$\$ >daemon.tmp; mv daemon.tmp daemon
        until [ -e go ]; do sleep 0.02; done
        \"$0\" --db \"$1\" run --tx -w 60 a -- touch ran; echo \$? >ended" 2>daemon-err &
        until [ -e daemon ]; do sleep 0.02; done' "$ROWLOCK" "$ROWLOCK_TEST_URL" 3>&- 4>&-
    hold a
    touch go
    waits_or_ended() { somebody_waits || [ -s ended ]; }
    until_true waits_or_ended
    cat daemon-err
    [ ! -s ended ]
    let_go
    until_true has_text ended
    [ "$(cat ended)" = 0 ]
    [ -e ran ]
}

@test "a shared lock beneath an ancestor's shared lock is granted" {
    [ "$ROWLOCK_TEST_TECHNIQUE" != insert ] || return 0
    run -0 rowlock run -s --tx a -- "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run -s --tx a -- echo fine
    [ "$output" = fine ]
}

# ---- signals while it runs ---------------------------------------------------------------------

@test "a signal that the caller ignores stays ignored" {
    (trap '' HUP; exec "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx a -- \
        perl -e "$listener" >>out 2>>err 3>&- 4>&-) &
    pid=$!
    until_true has_seen ready
    kill -s HUP "$pid"
    kill -s USR1 "$pid"
    until_true has_seen USR1
    touch stop
    ends_with 5 "$pid"
    run ! has_seen HUP
}

@test "under a terminal the command stays in the caller's process group" {
    # shellcheck disable=SC2016
    groups='ps -o pgid= -p $$; ps -o pgid= -p $(ps -o ppid= -p $PPID)' # rowlock, behind the guard
    script -qec "'$ROWLOCK' --db '$ROWLOCK_TEST_URL' run --tx a -- sh -c '$groups'" /dev/null \
        </dev/null 3>&- 4>&- | tr -d '\r ' >same
    [ "$(wc -l <same)" = 2 ]
    [ "$(sort -u same | wc -l)" = 1 ]
}

# ---- loss --------------------------------------------------------------------------------------

@test "the session is killed: the command gets TERM, the status is 123, the lock is free" {
    start_rowlock run --tx a -- perl -e \
        '$SIG{TERM} = sub { open my $seen, ">>", "seen"; print $seen "TERM\n"; exit 3 };
         open my $file, ">", "holding.tmp"; print $file $$; close $file;
         rename "holding.tmp", "holding"; sleep 1 while 1'
    pid=$started
    until_true is_there holding
    end_sessions
    ends_with 123 "$pid"
    grep -qx TERM seen
    grep -q "^rowlock: the lock on 'a' is lost" err
    until_true is_gone "$(cat holding)"
    held a
}
