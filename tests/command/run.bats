#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# run --tx: a command under the lock of a transaction.
# Runs on: postgresql mariadb
# Quick: postgresql/native

bats_require_minimum_version 1.5.0
load lib

setup_file() { install_technique; }
setup() { cd "$BATS_TEST_TMPDIR" || return 1; }
held() { rowlock run -n --tx "$@" -- true; }
# If InnoDB finds a deleted but unpurged row of the name, it also locks the gap to the next row. A
# name may then have to wait for its neighbour. This is a known weakness of this technique there.
neighbours_meet() { [ "$ROWLOCK_TEST_ENGINE/$ROWLOCK_TEST_TECHNIQUE" = mariadb/insert ]; }

# ---- the command -------------------------------------------------------------------------------

@test "the exit status is the command's" {
    run rowlock run --tx a -- sh -c 'exit 7'
    echo "$output"
    [ "$status" = 7 ]
    run rowlock run --tx a -- true
    echo "$output"
    [ "$status" = 0 ]
    [ -z "$output" ]
}

@test "killed by a signal: rowlock ends by the same signal" {
    run how_it_ended "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx a -c 'kill -USR1 $$'
    echo "$output"
    [ "$output" = "signal 10" ]
    run how_it_ended "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx a -c 'kill -KILL $$'
    echo "$output"
    [ "$output" = "signal 9" ]
    run rowlock run -n --tx a -- true
    echo "$output"
    [ "$status" = 0 ]
}

@test "126: cannot be executed; 127: not found" {
    touch file
    run rowlock run --tx a -- ./file
    echo "$output"
    [ "$status" = 126 ]
    [ "$output" = "rowlock: ./file: Permission denied" ]
    run -127 rowlock run --tx a -- ./nothing
    echo "$output"
    [ "$status" = 127 ]
    [ "$output" = "rowlock: ./nothing: No such file or directory" ]
}

@test "a broken pipe ends the command's own commands: their signals are not the client library's" {
    run rowlock run --tx a -c 'grep SigIgn: /proc/self/status; yes 2>&1 | head -n 1'
    echo "$output"
    [ "$status" = 0 ]
    [ "${lines[1]}" = y ]
    [ ${#lines[@]} = 2 ]
    ignored=$(grep SigIgn: /proc/self/status)
    # SIGPIPE
    [ $((16#${lines[0]##*[^0-9a-f]} & 16#1000)) = $((16#${ignored##*[^0-9a-f]} & 16#1000)) ]
}

@test "-c is a string for /bin/sh" {
    run rowlock run --tx a -c 'echo "$((1 + 1))" | tr 2 3; exit 4'
    echo "$output"
    [ "$status" = 4 ]
    [ "$output" = 3 ]
    run rowlock run --tx a --command 'echo long'
    echo "$output"
    [ "$output" = long ]
}

@test "standard input and output are the caller's, and rowlock's descriptors are closed" {
    run bash -c 'echo through | "$0" --db "$ROWLOCK_TEST_URL" run --tx a -- cat' "$ROWLOCK"
    echo "$output"
    [ "$output" = through ]
    show='for f in /proc/$$/fd/*; do echo "${f##*/}"; done'
    bash -c "$show" >direct 7</dev/null
    rowlock run --tx a -- bash -c "$show" >below 7</dev/null
    diff direct below
    grep -qx 7 below
}

@test "the command can read the names and the held locks" {
    run rowlock run --tx one 'two ü' -- sh -c 'echo "$ROWLOCK_NAME"; echo "$ROWLOCK_HELD"'
    echo "$output"
    [ "${lines[0]}" = one ]
    [ "${lines[1]}" = 'two ü' ]
    [ "${lines[2]}" = "6f6e65:x 74776f20c3bc:x" ]
}

@test "the command's words are its own; options of rowlock may come after names" {
    run rowlock run a --tx b -n -- echo --tx -n --db x
    echo "$output"
    [ "$status" = 0 ]
    [ "$output" = "--tx -n --db x" ]
}

# ---- the lock ----------------------------------------------------------------------------------

@test "the lock is held while the command runs, and free when it has ended" {
    hold a
    run held a
    echo "$output"
    [ "$status" = 75 ]
    [[ $output == "rowlock: 'a' is held"* ]]
    neighbours_meet || held b
    let_go
    held a
}

@test "several names are locked all or none" {
    hold b
    run held a b c
    echo "$output"
    [ "$status" = 75 ]
    neighbours_meet || [[ $output == *"'b' is held"* ]]
    neighbours_meet || held a c
    let_go
    held a b c
}

@test "-s shares, -x does not" {
    [ "$ROWLOCK_TEST_TECHNIQUE" != insert ] || return 0
    hold a -s
    held -s a
    held --shared a
    for alone in -x -e --exclusive; do
        run held "$alone" a
        echo "$output"
        [ "$status" = 75 ]
    done
    let_go
}

@test "technique insert refuses -s" {
    [ "$ROWLOCK_TEST_TECHNIQUE" = insert ] || return 0
    run held -s a
    echo "$output"
    [ "$status" = 64 ]
}

@test "-n, --nb and --nonblock do not wait; -E chooses the status" {
    hold a
    for option in -n --nb --nonblock "-w 0"; do
        # shellcheck disable=SC2086
        run rowlock run --tx $option a -- touch ran
        echo "$output"
        [ "$status" = 75 ]
        [ ! -e ran ]
    done
    run rowlock run --tx -n -E 0 a -- touch ran
    echo "$output"
    [ "$status" = 0 ]
    [ ! -e ran ]
    run rowlock run --tx -n --conflict-exit-code 9 a -- touch ran
    echo "$output"
    [ "$status" = 9 ]
    [ ! -e ran ]
    let_go
}

@test "-w, --wait and --timeout limit the wait, and the message names the holder" {
    hold a
    for option in -w --wait --timeout; do
        run rowlock run --tx $option 2 a -- touch ran
        echo "$output"
        [ "$status" = 75 ]
        [ ! -e ran ]
        [[ $output == *"'a' is held by"*"not acquired in time" ]]
    done
    let_go
}

@test "a waiter gets the lock when it is free, and --verbose prints how long it waited" {
    hold a
    start "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx -w 30 --verbose a -- touch ran
    waiter=$started
    until_true somebody_waits
    [ ! -e ran ]
    let_go
    wait "$waiter"
    [ -e ran ]
    grep -qE "^rowlock: 'a' acquired after [0-9]+ ms$" err
}

@test "a signal ends the wait, and rowlock by that signal" {
    for signal in 15 2 1 3; do
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
    run rowlock run --tx a -- "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx a -- true
    echo "$output"
    [ "$status" = 75 ]
    [[ $output == *"held by your own ancestor"* ]]
    neighbours_meet && return
    run rowlock run --tx a b -- "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx c -- \
        "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx -E 9 d b -- true
    echo "$output"
    [ "$status" = 9 ]
    [[ $output == *"'b' is held by your own ancestor"* ]]
    run rowlock run --tx a -- "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx ab -- echo fine
    echo "$output"
    [ "$status" = 0 ]
    [ "$output" = fine ]
}

@test "a shared lock beneath an ancestor's shared lock is granted" {
    [ "$ROWLOCK_TEST_TECHNIQUE" != insert ] || return 0
    run rowlock run -s --tx a -- "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run -s --tx a -- echo fine
    echo "$output"
    [ "$status" = 0 ]
    [ "$output" = fine ]
}

# ---- signals while it runs ---------------------------------------------------------------------

@test "TERM, INT, HUP, QUIT, USR1 and USR2 are passed on" {
    start "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx a -- perl -e "$listener"
    pid=$started
    until_true has_seen ready
    for signal in TERM INT HUP QUIT USR1 USR2; do
        kill -s $signal "$pid"
        until_true has_seen $signal
    done
    touch stop
    status=0
    wait "$pid" || status=$?
    [ "$status" = 5 ]
    [ "$(sort seen | uniq -d)" = "" ]
}

@test "the command's exit status counts also after signals" {
    start "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx a -- perl -e "$listener"
    pid=$started
    until_true has_seen ready
    kill -s TERM "$pid"
    until_true has_seen TERM
    touch stop
    status=0
    wait "$pid" || status=$?
    [ "$status" = 5 ]
}

@test "TERM also ends the processes of the command" {
    start "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx a -- \
        sh -c 'sleep 1000 & echo $! >grandchild.tmp; mv grandchild.tmp grandchild; wait'
    pid=$started
    until_true is_there grandchild
    kill -s TERM "$pid"
    status=0
    wait "$pid" || status=$?
    [ "$status" = 143 ]
    until_true is_gone "$(cat grandchild)"
}

@test "a signal that the caller ignores stays ignored" {
    (trap '' HUP; exec "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx a -- \
        perl -e "$listener" >>out 2>>err 3>&- 4>&-) &
    pid=$!
    until_true has_seen ready
    kill -s HUP "$pid"
    kill -s USR1 "$pid"
    until_true has_seen USR1
    touch stop
    status=0
    wait "$pid" || status=$?
    [ "$status" = 5 ]
    run ! has_seen HUP
}

@test "under a terminal the command stays in the caller's process group, otherwise it has its own" {
    # shellcheck disable=SC2016
    groups='ps -o pgid= -p $$; ps -o pgid= -p $(ps -o ppid= -p $PPID)' # rowlock, behind the guard
    script -qec "'$ROWLOCK' --db '$ROWLOCK_TEST_URL' run --tx a -- sh -c '$groups'" /dev/null \
        </dev/null 3>&- 4>&- | tr -d '\r ' >same
    [ "$(wc -l <same)" = 2 ]
    [ "$(sort -u same | wc -l)" = 1 ]
    rowlock run --tx a -- sh -c "$groups" </dev/null >own
    [ "$(sort -u own | wc -l)" = 2 ]
}

# ---- loss --------------------------------------------------------------------------------------

@test "the session is killed: the command gets TERM, the status is 123, the lock is free" {
    start "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx a -- perl -e \
        '$SIG{TERM} = sub { open my $seen, ">>", "seen"; print $seen "TERM\n"; exit 3 };
         open my $file, ">", "holding.tmp"; print $file $$; close $file;
         rename "holding.tmp", "holding"; sleep 1 while 1'
    pid=$started
    until_true is_there holding
    end_sessions
    status=0
    wait "$pid" || status=$?
    [ "$status" = 123 ]
    grep -qx TERM seen
    grep -q "^rowlock: the lock on 'a' is lost" err
    until_true is_gone "$(cat holding)"
    held a
}

@test "a command that ignores TERM is killed after --kill-after, with all its processes" {
    start "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run --tx --kill-after 100ms a -- bash -c \
        'trap "" TERM; sleep 1000 & echo $! >grandchild; echo $$ >holding; while :; do wait; done'
    pid=$started
    until_true is_there holding
    end_sessions
    status=0
    wait "$pid" || status=$?
    [ "$status" = 123 ]
    is_gone "$(cat holding)"
    until_true is_gone "$(cat grandchild)"
}

@test "rowlock is killed: so is the command" {
    hold a
    kill -s KILL "$holder"
    wait "$holder" || true
    until_true is_gone "$(cat holding)"
    until_true held a
}

# ---- no database -------------------------------------------------------------------------------

@test "-w covers connecting: it is retried until the timeout; without -w once" {
    start_counter
    run "$ROWLOCK" --db "$counter_url" run --tx a -- touch ran
    echo "$output"
    [ "$status" = 69 ]
    once=$(calls)
    run "$ROWLOCK" --db "$counter_url" run --tx -w 2 a -- touch ran
    echo "$output"
    [ "$status" = 69 ]
    kill "$started"
    [ "$(calls)" -gt $((2 * once)) ]
    [ ! -e ran ]
}

@test "a database without a schema: 69, and the command to run" {
    empty=${ROWLOCK_TEST_URL%/*}/test_${ROWLOCK_TEST_URL##*_}e
    sql "CREATE DATABASE ${empty##*/}"
    run "$ROWLOCK" --db "$empty" run --tx a -- touch ran
    echo "$output"
    sql "DROP DATABASE ${empty##*/}"
    [ "$status" = 69 ]
    [[ $output == *"rowlock schema install"* ]]
    [ ! -e ran ]
}
