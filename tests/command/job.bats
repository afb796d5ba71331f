#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# job: of all nodes that call, exactly one runs the command. Nodes that die or freeze are replaced,
# and the outcome of every run is recorded.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: sqlite/native
# Rest: sqlite/native, because conformance/job and leases/job_* run on every engine

load lib
load run.bash
load job.bash

# The command of --on-failure: one line for each call, and its standard input.
on_failure=(--on-failure 'echo "$ROWLOCK_JOB $ROWLOCK_STATE $ROWLOCK_EXIT $(cat)" >>changes')
changes_are() { [ "$(cat changes 2>/dev/null)" = "$1" ]; }

# ---- due, or not -------------------------------------------------------------------------------

@test "a due job runs once; later calls exit at once, with 0 and silently" {
    run job a "${rarely[@]}" -- echo ran
    [ "$status/$output" = 0/ran ]
    run job a "${rarely[@]}" -- echo ran
    [ "$status/$output" = 0/ ]
    run job -E 7 a "${rarely[@]}" -- echo ran
    [ "$status/$output" = 7/ ]
    run -0 job --verbose a "${rarely[@]}" -- echo ran
    [[ $output == "rowlock: 'a' is not due before 20"* ]]
    [ "$(runs_of a)" = 1 ]
}

@test "while it runs elsewhere no other node runs it, and --verbose shows where" {
    start_node where
    run -3 job -E 3 --verbose where "${rarely[@]}" -- echo ran
    [[ $output == "rowlock: 'where' is not run: 'job:where' is held by $(hostname):$node since "* ]]
    end_by_term "$node"
}

@test "a call that comes early reports that it waits for the due time, which its command can read" {
    yearly=(--cron '0 0 1 1 *' --verbose)
    job early "${yearly[@]}" -- false
    is_due_in early 8000 # a loaded machine starts it slowly
    due=$(due_of early)
    run -0 job early "${yearly[@]}" -- sh -c 'echo "$ROWLOCK_DUE $ROWLOCK_ATTEMPT"'
    [[ ${lines[0]} == "rowlock: 'early' is due at "*": waiting "* ]]
    [ "${lines[1]}" = "rowlock: 'early' runs" ]
    [ "${lines[2]}" = "$(as_utc "$due") 1" ]
    run_is early 0 due="$(as_utc "$due")"
    [[ ! $(view early 'history[0].started') < $(as_utc "$due") ]]
}

@test "a signal ends the wait for the due time without a claim" {
    job alarm --cron '0 0 1 1 *' -- false
    is_due_in alarm 29000
    start_job alarm --cron '0 0 1 1 *' --verbose -- touch ran
    node=$started
    until_true grep -q "is due at" err
    is_free job:alarm
    runs_nowhere alarm
    end_by_term "$node"
    [ ! -e ran ]
    [ "$(runs_of alarm)" = 0 ]
}

# ---- how a run ends ----------------------------------------------------------------------------

@test "job exits with the command's status, and records it" {
    run job status "${rarely[@]}" -- sh -c 'echo out; exit 5'
    [ "$status/$output" = 5/out ]
    run_is status 0 outcome=failed exit=5
    [ "$(view status last_exit)/$(view status last_output)" = $'5/out\n' ] ||
        [ "$(view status last_exit)/$(view status last_output)" = 5/out ]
    [ "$(view status last_node)" = "$(hostname)" ]
    [ -n "$(view status failed_since)" ]
    run -127 job missing "${rarely[@]}" -- ./nosuch
    run_is missing 0 exit=127
    [[ $output = *"./nosuch: No such file"* &&
        $(view missing last_output) = *"./nosuch: No such file"* ]]
    job good "${rarely[@]}" -- true
    run_is good 0 outcome=done exit=0
    [ -z "$(view good failed_since)" ]
}

@test "a signal that ends the command ends job, and is recorded" {
    start_node signalled
    end_by_term "$node"
    run_is signalled 0 outcome=failed exit=143
    is_free job:signalled
}

@test "--max-run ends the command, also if it ignores TERM: 124, and recorded" {
    run -124 job long "${rarely[@]}" --max-run 2s --kill-after 100ms -- \
        bash -c 'trap "" TERM; while :; do sleep 970; done'
    [[ $output == *"'job:long' exceeded --max-run"* ]]
    run_is long 0 outcome="timed out" exit=124
    is_free job:long
}

@test "--at-least: the name stays held after a quick run, until break" {
    job quick --every 1s --at-least 1h -- true
    run_is quick 0 outcome=done
    runs_nowhere quick
    is_held job:quick
    run job -E 3 quick --every 1s --at-least 1h -- echo ran
    [ "$status/$output" = 3/ ]
    run rowlock break job:quick
    [ "$output" = "1 lease of 'job:quick' broken: it is free" ]
    is_free job:quick
    run_is quick 0 outcome=done
}

# conformance/job has more about each of them.
@test "--retry, --backoff, --history: a failed run is repeated that often, and not earlier" {
    job plain "${rarely[@]}" -- false || [ $? = 1 ]
    run -3 job -E 3 plain "${rarely[@]}" --backoff 1ms -- false
    again() { # OPTION...
        job -E 3 again "${rarely[@]}" --retry 2 --history 2 "$@" -- sh -c 'echo ran >>ran; exit 9'
    }
    for repetition in 0 1 2; do
        until again --backoff 1ms; do
            [ $? = 3 ] || break
            sleep 0.05
        done
        run_is again 0 repeat="$repetition" exit=9
        run -3 again --backoff 1h
    done
    run -3 again --backoff 1ms
    [ "$(wc -l <ran)" = 3 ]
    [ "$(runs_of again)" = 2 ]
}

# ---- nodes that die or freeze -----------------------------------------------------------------

until_expired() { # NAME: until the lease of a dead node has expired
    local left
    left=$(($(date -d "$(item "$1" '$[0].expires')" +%s%3N) - $(date +%s%3N)))
    [ "$left" -le 0 ] || sleep "${left}e-3"
    until_true is_free "$1"
}

@test "a node is killed: after its lease the next caller runs the job; the lost run is recorded" {
    start_node killed --ttl 6s
    token=$(view killed running_token)
    [ "$(view killed running_at)" = "$(hostname)" ]
    all_of_node KILL
    until_true is_gone "$node"
    until_expired job:killed
    [ ! -e changes ]
    job -E 3 killed "${rarely[@]}" "${on_failure[@]}" -- touch again 2>err
    [ -e again ]
    grep -q "token $token) was lost" err
    run_is killed 1 outcome=lost token="$token"
    run_is killed 0 outcome=done repeat=1
    reported() { # by the node that records it, once; and the next recovery
        changes_are $'killed fine 0 \nkilled lost  ' || changes_are $'killed lost  \nkilled fine 0 '
    }
    until_true reported
    run -3 job -E 3 killed "${rarely[@]}" "${on_failure[@]}" -- true
    [ "$(wc -l <changes)" = 2 ]
}

@test "a node is frozen, with its guard: it is replaced, and changes nothing when it wakes" {
    start_node frozen --ttl 5s
    first=$node first_guard=$(guard_of "$node") first_command=$(cat command)
    token=$(view frozen running_token)
    all_of_node STOP
    until_expired job:frozen
    hold_by job frozen "${rarely[@]}"
    # shellcheck disable=SC2046
    kill -s CONT "$first" "$first_guard" "$first_command" $(pgrep -P "$first_command")
    ends_with 123 "$first"
    is_gone "$first_command"
    is_running_somewhere frozen
    run_is frozen 1 token="$token" outcome=late
    run_is frozen 0 outcome=running
    let_go
    run_is frozen 0 outcome=done
    run_is frozen 1 outcome=late
}

# ---- runs whose command never started ---------------------------------------------------------

@test "p5: a run whose lease is too old before its command starts does not start or count" {
    start_too_late job:late job --verbose late "${rarely[@]}" --retry 0 --ttl 4s -- touch ran
    ends_with 123 "$started"
    [ ! -e ran ]
    run_is late 0 outcome="not started" exit=
    [ "$(view late last_outcome)" = "not started" ]
    [ -z "$(view late running_token)" ]
    [ "$(sql "SELECT state FROM ${ours}jobs WHERE name = 'late'")" = "not started" ]
    [[ $(rowlock jobs late) == *"not started"* ]]
    run -1 rowlock jobs --check late
    [[ $output == "failing: 'late' since "* ]]
    runs_again() { job late "${rarely[@]}" --retry 0 --backoff 1ms -- touch ran && [ -e ran ]; }
    until_true runs_again
    run_is late 0 outcome=done repeat=0
    run_is late 1 outcome="not started"
    run -0 rowlock jobs --check late
}

@test "p5: a command that exits with 0 because the lock is lost is not recorded as done" {
    start_job polite "${rarely[@]}" --ttl 6s -- bash -c "trap 'exit 0' TERM
        $(pid_into command); while :; do sleep 970 & wait; done"
    node=$started
    until_true is_there command
    kill -s STOP "$node" # no renewal succeeds; the guard ends the command
    until_true is_gone "$(cat command)"
    kill -s CONT "$node"
    ends_with 123 "$node"
    # shellcheck disable=SC2030,SC2031
    [[ $(view polite last_outcome) =~ ^(lost|late)$ ]]
    run -2 rowlock jobs --check polite
    until_expired job:polite
    job polite "${rarely[@]}" -- touch again
    [ -e again ]
    run_is polite 0 repeat=1 outcome=done
}

@test "whichever descriptor is missing: every run recorded as done was executed" {
    local n name outcome limits=() not_started=0
    for n in {4..40}; do # until five have run, and the last
        [ "$n" = 40 ] || [ ! -e ran ] || [ "$(wc -l <ran)" -lt 5 ] || continue
        limits+=("$n")
        prlimit --nofile="$n" "$ROWLOCK" --db "$ROWLOCK_TEST_URL" job "few$n" "${rarely[@]}" -- \
            sh -c "echo few$n >>ran" >/dev/null 2>&1 || true
    done
    rowlock --json jobs | jq -r '.[] | "\(.name) \(.last_outcome)"' >outcomes
    for n in "${limits[@]}"; do
        name=few$n
        outcome=$(sed -n "s/^$name //p" outcomes)
        echo "$name: $outcome"
        if grep -qx "$name" ran; then [ "$outcome" = done ]; else [ "$outcome" != done ]; fi
        [ "$outcome" != "not started" ] || not_started=1
    done
    [ $not_started = 1 ]
    grep -qx few40 ran
}

# ---- operators ---------------------------------------------------------------------------------

@test "hold job:NAME prevents the job; after the hold it runs" {
    token=$(rowlock hold --for 2h --note 'new disks, ask Ann' job:away 2>/dev/null)
    run -3 job -E 3 --verbose away "${rarely[@]}" -- touch ran
    [[ $output == *"'job:away' is held by "*"new disks, ask Ann"* ]]
    [ ! -e ran ]
    rowlock release job:away --token "$token"
    job away "${rarely[@]}" -- touch ran
    [ -e ran ]
}

@test "break job:NAME stops it: 123, recorded as broken, and not repeated" {
    start_node broken --ttl 6s --retry 3 "${on_failure[@]}"
    rowlock break job:broken
    ends_with 123 "$node"
    is_gone "$(cat command)"
    run_is broken 0 outcome=broken
    [ ! -e changes ] # the command of --on-failure did not run
    run -3 job -E 3 broken "${rarely[@]}" --retry 3 --backoff 1ms -- touch more
    [ ! -e more ]
}

@test "the lease's terms: --ttl, --note; the command can read name and token" {
    job terms "${rarely[@]}" --ttl 9s --note 'ask Ben' -- sh -c '
        echo "$ROWLOCK_NAME $ROWLOCK_TOKEN"; "$0" --db "$1" --json ls job:terms' "$ROWLOCK" \
            "$ROWLOCK_TEST_URL" >said
    [ "$(head -n 1 said)" = "job:terms $(view terms last_token)" ]
    [ "$(tail -n +2 said | json '$[0].note')" = "ask Ben" ]
    [ "$(tail -n +2 said | json_sql "json_extract(document, '\$[0].token')")" \
        = "$(view terms last_token)" ]
}

@test "--on-failure: once when the job begins to fail, and once when it recovers" {
    runs_with() { # STATUS: the next run ends so
        local ended=0
        job often "${rarely[@]}" -E 99 "${on_failure[@]}" -- sh -c "echo out $1; exit $1" \
            >/dev/null || ended=$?
        [ "$ended" = "$1" ]
        rowlock jobs often --now
    }
    runs_with 0
    [ ! -e changes ]
    runs_with 3
    changes_are "often failing 3 out 3"
    runs_with 4
    changes_are "often failing 3 out 3"
    runs_with 0
    changes_are $'often failing 3 out 3\noften fine 0 out 0'
    runs_with 0
    [ "$(wc -l <changes)" = 2 ]
}

@test "--on-failure: its command holds no lease, and its due time is that of the run" {
    job held "${rarely[@]}" --on-failure 'touch begun; echo "$ROWLOCK_DUE" >due
        until [ -e let-go ]; do sleep 0.02; done' -- sh -c 'echo "$ROWLOCK_DUE" >of-run; exit 1' &
    all_started+=($!)
    until_true is_there begun
    is_free job:held
    run_is held 0 outcome=failed
    touch let-go
    wait $! || [ $? = 1 ]
    [ "$(cat due)" = "$(cat of-run)" ]
}
