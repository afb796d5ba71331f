#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# run: a command under a lease.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: sqlite/native
# Rest: sqlite postgresql

# shellcheck disable=SC2086 # lists of words
load lib
load run.bash

hold_leased() { hold_by run "$@"; } # [OPTION...] NAME

# ---- how it ends -------------------------------------------------------------------------------

@test "the exit status is the command's; 126: cannot be executed; 127: not found" {
    run -7 leased a -- sh -c 'exit 7'
    [ -z "$output" ]
    touch file
    run -126 leased a -- ./file
    [ "$output" = "rowlock: ./file: Permission denied" ]
    run -127 leased a -- ./nothing
    [ "$output" = "rowlock: ./nothing: No such file or directory" ]
    PATH=/no/where:/no/how run -127 leased a -- nosuch-command
    [ "$output" = "rowlock: nosuch-command: command not found; PATH is /no/where:/no/how" ]
    run -127 env -u PATH "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run a -- nosuch-command
    [ "$output" = "rowlock: nosuch-command: command not found; PATH is not set" ]
    printf '#!/no/interpreter\n' >script && chmod +x script
    run -127 leased a -- ./script
    [[ $output == "rowlock: ./script: cannot execute: the interpreter"* ]]
    run -0 leased -n a -- true
}

@test "killed by a signal: rowlock ends by the same signal, and the lease is released" {
    for signal in USR1:10 KILL:9 TERM:15 INT:2; do
        run how_it_ended env --default-signal=INT "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run a \
            -c "kill -${signal%:*} \$\$"
        [ "$output" = "signal ${signal#*:}" ]
        is_free a
    done
}

@test "124: --max-run has passed; the command and all its processes are ended" {
    start_tree --max-run 3s a
    ends_with 124 "$holder"
    tree_is_gone
    grep -q -- '--max-run' err
    is_free a
}

@test "75: held by another; the holder, since when, and its note; -E chooses the status" {
    hold_leased --note 'until noon' a
    for option in -n --nb --nonblock "-w 0"; do
        run -75 leased $option a -- touch ran
        [[ $output == "rowlock: 'a' is held by "*"pid $holder "*"since "*"until noon"* ]]
    done
    run -75 leased -w 2 a -- touch ran
    run -0 leased -n -E 0 a -- touch ran
    run -9 leased -n -E 9 a -- touch ran
    [ ! -e ran ]
    let_go
    is_free a
}

@test "64: permits stated differently" {
    hold_leased --limit 2 p
    run -64 leased -n --limit 3 p -- touch ran
    [[ $output == *2*3* || $output == *3*2* ]]
    [ ! -e ran ]
    let_go
}

@test "--report records the outcome, readable by its owner alone" {
    umask 0
    leased --report r a -- sh -c 'echo $ROWLOCK_TOKEN >token; exit 4' || [ $? = 4 ]
    [ "$(stat -c %a r)" = 600 ]
    [ "$(wc -l <r)" = 1 ]
    [ "$(json '$.acquired' <r)$(json '$.lost' <r)$(json '$.exit' <r)" = 104 ]
    [ "$(json '$.token' <r)" = "$(cat token)" ]
    [ "$(json '$.waited_ms' <r)" -lt 10000 ]
    hold_leased a
    leased --report r -n a -- true || [ $? = 75 ]
    [ "$(json_sql "json_type(document, '\$.token')" <r)" = null ]
    [ "$(json '$.acquired' <r)$(json '$.exit' <r)" = 075 ]
    let_go
    leased --report r a -c 'kill -TERM $$' || true
    [ "$(json '$.exit' <r)" = 143 ]
    leased --report r b $'a "name"' a -- true
    [ "$(json '$.names' <r)" = '["b","a \"name\"","a"]' ]
    run -125 leased --report nowhere/r a -- touch ran
    [ ! -e ran ]
}

@test "--report: empty while the command runs; of two runs with one file the last line remains" {
    leased --report r a -- true
    leased --report r a -c 'wc -c <r >size'
    [ "$(cat size)" = 0 ]
    hold_leased --report r "$(printf 'long%.0s' {1..50})"
    leased --report r a -- true
    let_go
    hold_leased --report r a
    leased --report r "$(printf 'long%.0s' {1..50})" -- true
    let_go
    [ "$(wc -l <r)" = 1 ]
    [ "$(json '$.names[0]' <r)" = a ]
}

@test "--report does not go to standard output, which is the command's; standard error may be" {
    run -64 leased --report - a -- touch ran
    [[ $output == *"/dev/stderr"* ]]
    [ ! -e ran ]
    [ ! -e - ]
    echo before >log
    leased --report /dev/stderr a -- sh -c 'echo out; echo error >&2' 2>>log >out
    [ "$(cat out)" = out ]
    [ "$(sed -n 1,2p log | paste -sd,)" = before,error ]
    [ "$(sed -n 3p log | json '$.acquired')" = 1 ]
    [ "$(leased --report /dev/stderr a -- true 2>&1 | json '$.exit')" = 0 ]
}

# ---- the environment of the command -----------------------------------------------------------

@test "the command can read names, token, owner and held locks" {
    leased one 'two ü' -- sh -c '
        printf "%s\n" "$ROWLOCK_NAME" "$ROWLOCK_TOKEN" "$ROWLOCK_OWNER" "$ROWLOCK_HELD"
        "$0" --db "$1" --json ls one >ls' "$ROWLOCK" "$ROWLOCK_TEST_URL" >told
    [ "$(sed -n 1,2p told)" = "one"$'\n'"two ü" ]
    [ "$(sed -n 3p told)" = "$(json '$[0].token' <ls)" ]
    [ "$(sed -n 4p told)" = "$(json '$[0].owner' <ls)" ]
    [ "$(sed -n 5p told)" = "$(sed -n 3p told)" ]
    [ "$(json '$[0].command' <ls)" = sh ] # not its arguments: one may be a secret
}

@test "beneath a lease, a transaction has neither token nor owner; both are in ROWLOCK_HELD" {
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] || return 0
    leased a -- sh -c '"$0" --db "$ROWLOCK_TEST_URL" run --tx b -c '\''
        echo "$ROWLOCK_NAME ${ROWLOCK_TOKEN-none} ${ROWLOCK_OWNER-none}"; echo "$ROWLOCK_HELD"'\''
        echo "$ROWLOCK_TOKEN 62:x"' "$ROWLOCK" >told
    [ "$(sed -n 1p told)" = "b none none" ]
    [ "$(sed -n 2p told)" = "$(sed -n 3p told)" ]
}

# ---- the lock ----------------------------------------------------------------------------------

@test "p1: held while the command runs, against leases and transactions; free when it has ended" {
    hold_leased a
    is_held a
    run -75 leased -n a b -- true
    leased -n b -- true
    if [ "$ROWLOCK_TEST_ENGINE" != sqlite ]; then
        run -75 leased -n --tx a -- true
    fi
    let_go
    is_free a
    leased -n a b -- true
}

@test "p1: shared leases share, and two of two permits are granted" {
    hold_leased -s a
    leased -n -s a -- true
    run -75 leased -n a -- true
    let_go
    hold_leased --limit 2 p
    leased -n --limit 2 p -- env -u ROWLOCK_HELD "$ROWLOCK" --db "$ROWLOCK_TEST_URL" \
        run -n -E 9 --limit 2 p -- touch ran || [ $? = 9 ]
    [ ! -e ran ]
    let_go
    leased -n p -- true
}

@test "p7: a waiter gets the lock when it is free, and --verbose prints how long it waited" {
    hold_leased a
    start_leased -w 1h --verbose a -- touch ran
    waiter=$started
    until_true is_waited_for a
    [ ! -e ran ]
    let_go
    wait "$waiter"
    [ -e ran ]
    grep -qE "^rowlock: 'a' acquired after [0-9]+ ms$" err
}

@test "p6: a signal ends the wait, rowlock by that signal, and no ticket is left" {
    hold_leased a
    for signal in 15 2 1 3 10 12; do
        (how_it_ended env --default-signal=INT,QUIT sh -c 'echo $$ >waiter; exec "$@"' sh \
            "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run a -- touch ran >ended 3>&- 4>&-) &
        job=$!
        all_started+=("$job")
        until_true is_waited_for a
        kill -s "$signal" "$(cat waiter)"
        wait "$job"
        [ "$(cat ended)" = "signal $signal" ]
        nobody_waits_for a
    done
    [ ! -e ran ]
    let_go
}

# ---- ancestors ---------------------------------------------------------------------------------

@test "a lock that an ancestor holds is refused at once, at any depth; -w does not wait for it" {
    for option in "" "-w 60" -s "--limit 2"; do
        run -9 leased a -- "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run b -- \
            "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run $option -E 9 a -- touch ran
        [[ $output == *"'a' is held by your own ancestor"* ]]
    done
    [ ! -e ran ]
    run leased a -- "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run ab -- echo fine
    [ "$output" = fine ]
}

@test "a lease beneath an ancestor's transaction, and the reverse, are refused" {
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] || return 0
    for options in "--tx:" ":--tx"; do
        runs 75 leased ${options%:*} a -- "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run ${options#*:} a \
            -- touch ran
        [[ $output == *"'a' is held by your own ancestor"* ]]
    done
    [ ! -e ran ]
}

@test "shared beneath an ancestor's shared lease is granted, except behind a waiting writer" {
    run leased -s a -- "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run -s a -- echo fine
    [ "$output" = fine ]
    start_leased -s a -- sh -c 'touch holding; until [ -e now ]; do sleep 0.02; done
        "$0" --db "$1" run -s a -- touch ran; echo $? >inner' "$ROWLOCK" "$ROWLOCK_TEST_URL"
    holder=$started
    until_true is_there holding
    start_next a
    touch now
    until_true has_text inner
    wait "$holder"
    [ "$(cat inner)" = 75 ]
    grep -q 'your own ancestor' err
    [ ! -e ran ]
    next_has_passed
}

# ---- while it runs -----------------------------------------------------------------------------

@test "every signal is passed on, and the command's exit status counts also after signals" {
    start_leased a -- perl -e "$listener"
    pid=$started
    until_true has_seen ready
    for signal in TERM INT HUP QUIT USR1 USR2; do
        kill -s $signal "$pid"
        until_true has_seen $signal
    done
    touch stop
    ends_with 5 "$pid"
    [ "$(sort seen | uniq -d)" = "" ]
}

@test "p5: without --ttl a lease lasts 30 s from its last renewal, and is renewed in time" {
    hold_leased a
    rowlock --json ls a >list
    local now first began
    now=$(date +%s%3N) first=$(json '$[0].expires' <list)
    began=$(date -d "$(json '$[0].since' <list)" +%s%3N)
    [ $(($(date -d "$first" +%s%3N) - began)) -ge 29990 ]
    [ $(($(date -d "$first" +%s%3N) - now)) -le 30000 ]
    until_true expires_later_than "$first"
    [ $(($(date +%s%3N) - began)) -gt 2000 ]
    let_go
}

@test "the session is killed: the lease stays, and the next renewal opens another session" {
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] || return 0
    hold_leased --ttl 6s a
    was=$(item a '$[0].expires')
    end_sessions
    until_true expires_later_than "$was"
    let_go
    is_free a
}

# ---- loss --------------------------------------------------------------------------------------

@test "p1, p5: 123: broken: the command is ended completely, then the next waiter has the lock" {
    start_tree --ttl 5s a
    start_next a command grandchild daemon
    rowlock break a
    ends_with 123 "$holder"
    tree_is_gone
    next_has_passed
    lost="^rowlock: the lock on 'a' is lost, stopping the command:"
    grep -q "$lost the lease of 'a' (token [0-9]*) was broken$" err
}

@test "123: broken at once: the command is ended at the next renewal" {
    start_tree --ttl 3s --report r a
    rowlock break --now a
    ends_with 123 "$holder"
    tree_is_gone
    [ "$(json '$.lost' <r)$(json '$.exit' <r)" = 1123 ]
}

@test "123: lost, but the command ended by itself before rowlock noticed" {
    hold_leased --ttl 30s a
    rowlock break --now a
    touch let-go
    ends_with 123 "$holder"
    grep -q "lost before the command had ended" err
}
