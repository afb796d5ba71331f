#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# jobs: its output for people, for scripts and for monitoring.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: sqlite/native
# Rest: sqlite postgresql

load lib
load run.bash
load job.bash

setup() { forget_jobs; }
changed() { sql "UPDATE ${ours}$1 SET $2"; }
checked() { # STATUS PATTERN [NAME]
    runs "$1" rowlock jobs --check "${@:3}"
    [ "${#lines[@]}" = 1 ]
    # shellcheck disable=SC2053
    [[ $output == $2 ]]
}

@test "before any node has asked: an empty list; for a name a message, and 1" {
    run rowlock jobs
    [ "$status/$output" = 0/ ]
    [ "$(rowlock --json jobs)" = "[]" ]
    run -1 rowlock jobs nosuch
    [[ $output == "rowlock: no node has asked for a job 'nosuch'" ]]
    run -1 rowlock --json jobs nosuch
    [ "${lines[0]}" = "[]" ]
}

@test "the table: one row per job, by name; with NAME the history and the output" {
    job b "${rarely[@]}" -- true
    job a "${rarely[@]}" -- sh -c 'echo printed; exit 3' >/dev/null || true
    run rowlock jobs
    [ "${#lines[@]}" = 3 ]
    [ "$(xargs <<<"${lines[0]}")" = \
        "NAME STATE NEXT RUNNING SINCE LAST ENDED BY AVERAGE SCHEDULE NOTE" ]
    [[ ${lines[1]} =~ ^a\ +failing\ +20..-..-..\ 00:00:00.*\ exit\ 3\ .*\ every\ 50w$ ]]
    [[ ${lines[2]} =~ ^b\ .*\ done\ .*\ every\ 50w$ ]]
    run rowlock jobs a
    [[ $output == *"exit 3"*"STARTED"*"exit 3"*$'The last run printed:\n  printed' ]]
}

@test "JSON: the fields before, while and after it runs" {
    job known --cron '@yearly' -- true
    rowlock --json jobs known >json
    for key in running_at running_since last_started last_finished last_exit last_node \
        last_output; do
        [ "$(json_sql "json_type(document, '\$[0].$key')" <json)" = null ]
    done
    start_node known2
    rowlock --json jobs known2 >json
    [ "$(json '$[0].running_at' <json)" = "$(hostname)" ]
    [ "$(json '$[0].running_pid' <json)" = "$node" ]
    [[ $(json '$[0].running_since' <json) == 20*Z ]]
    [ "$(json '$[0].running_token' <json)" = "$(item job:known2 '$[0].token')" ]
    end_by_term "$node"
    job known3 "${rarely[@]}" -- echo hi >/dev/null
    rowlock --json jobs known3 >json
    [ "$(json_sql "json_type(document, '\$[0].running_at')" <json)" = null ]
    [[ $(json '$[0].last_started' <json) == 20*Z && $(json '$[0].last_finished' <json) == 20*Z ]]
    [ "$(json '$[0].average_ms' <json)" = "$(json '$[0].last_took_ms' <json)" ]
    [ "$(rowlock --json jobs | json_sql 'json_array_length(document)')" = 3 ]
}

@test "--limit trims the history, which begins with the latest" {
    for _ in 1 2 3; do
        job often "${rarely[@]}" -- sh -c 'echo "$ROWLOCK_TOKEN"' >last
        rowlock jobs often --now
    done
    [ "$(rowlock jobs often | grep -c ' done ')" = 4 ] # the job's own row too
    [ "$(rowlock jobs often --limit 2 | grep -c ' done ')" = 3 ]
    [ "$(rowlock --json jobs often --limit 1 |
        json_sql "json_array_length(document, '\$[0].history')")" = 1 ]
    [ "$(rowlock --json jobs often --limit 1 | json '$[0].history[0].token')" = "$(cat last)" ]
    [ "$(rowlock --json jobs often --limit 0 |
        json_sql "json_array_length(document, '\$[0].history')")" = 0 ]
}

@test "--check: fine" {
    checked 0 "fine: 0 jobs"
    job a "${rarely[@]}" -- true
    checked 0 "fine: 1 job"
    start_node b
    checked 0 "fine: 2 jobs"
    rowlock break job:b
    ends_with 123 "$node"
    checked 0 "fine: 2 jobs" # another client wanted that
    [ "$(rowlock --json jobs --check | json '$[0].state')" = fine ]
}

@test "--check: failing, since the first failed run; one good run ends that" {
    ends() { # STATUS: the next run
        run "-$1" job f "${rarely[@]}" -- sh -c "exit $1"
        rowlock jobs f --now
    }
    ends 0
    ends 9
    ends 9
    first=$(view f 'history[1].started')
    checked 1 "failing: 'f' since 20??-??-?? ??:??:?? [+-]???? on $(hostname)"
    [ "$(rowlock --json jobs --check f | json '$[0].since')" = "$first" ]
    [ "$(rowlock --json jobs --check f | json '$[0].state')" = failing ]
    ends 0
    checked 0 "fine: 1 job" f
}

@test "--check: late after more than a minute without a claim" {
    job a --every 1s -- true
    job b "${rarely[@]}" -- true
    changed job "due = due - 30000 WHERE name = 'b'"
    checked 0 "fine: 1 job" b
    changed job "due = 1000000000000 WHERE name = 'b'"
    checked 1 "late: 'b' since 2001-09-0? ??:??:40 [+-]????"
    checked 0 "fine: 1 job" a
    checked 1 "late: no node has asked for 'nosuch' yet" nosuch
}

@test "--check: lost, also before a node records it, until a run begins; the worst state counts" {
    job failing "${rarely[@]}" -- false || true
    start_node lost --ttl 5s
    all_of_node KILL
    until_true is_free job:lost
    checked 2 "failing: 'failing' since *; lost: 'lost' since 20* on $(hostname)"
    [ "$(view lost last_outcome)" = lost ]
    [ -z "$(view lost running_at)" ]
    run -3 job -E 3 lost "${rarely[@]}" --retry 0 -- touch more
    checked 2 "lost: 'lost' since *" lost
    changed job "due = 1000000000000 WHERE name = 'lost'"
    job lost "${rarely[@]}" -- true
    checked 0 "fine: 1 job" lost
}

@test "paused: held until it is released, and neither late nor failing meanwhile" {
    job a "${rarely[@]}" -- true
    job b "${rarely[@]}" -- true
    rowlock hold --note $'ask Ann\a' job:a >token
    changed job "due = 1000000000000 WHERE name = 'a'"
    checked 0 "paused: 'a' since 20* on $(hostname) (ask Ann\\\\x07); fine: 1 job"
    checked 0 "paused: 'a' since 20* on *" a
    [ "$(rowlock --json jobs --check a | json '$[0].state')" = paused ]
    [[ $(rowlock --json jobs --check a | json '$[0].since') == 20*Z ]]
    [[ $(rowlock jobs a) == *$'\n'"a "*" paused "*" every 50w "*"ask Ann\\x07"$'\n'* ]]
    [ "$(view a state)/$(view a paused_by)" = "paused/$(hostname)" ]
    [ "$(view a paused_token)" = "$(cat token)" ]
    [ "$(view a paused_note)" = $'ask Ann\a' ]
    [ "$(view a state_since)" = "$(view a paused_since)" ]
    [ -z "$(view a paused_until)" ]
    [ "$(view b state)/$(view b paused_token)" = fine/ ]
    run -3 job -E 3 a "${rarely[@]}" -- touch ran
    rowlock release job:a --token "$(cat token)"
    checked 1 "late: 'a' since *" a
    job a "${rarely[@]}" -- false || true
    checked 1 "failing: 'a' since *" a
    rowlock hold --for 1h --note why job:a
    checked 0 "paused: 'a' since *" a
    [[ $(view a paused_until) == 20*Z ]]
    rowlock break --now job:a
    checked 1 "failing: 'a' since *" a
}

@test "--now: the next call runs it once; refused while it runs, is held, or is unknown" {
    job soon "${rarely[@]}" --missed skip -- true
    run -0 rowlock jobs soon --now
    [ "$output" = "rowlock: 'soon' is due now: the next node that asks runs it" ]
    due=$(due_of soon)
    job soon "${rarely[@]}" --missed skip -- sh -c 'echo "$ROWLOCK_DUE" >due'
    [ "$(cat due)" = "$(as_utc "$due")" ]
    run -3 job -E 3 soon "${rarely[@]}" --missed skip -- touch again
    run rowlock --json jobs soon --now
    [ "$status/$output" = '0/{"name":"soon","due_now":true}' ]
    rm -f due
    changed job "due = due - 600000 WHERE name = 'soon'" # the next call comes later than a minute
    job soon "${rarely[@]}" --missed skip -- touch due
    [ -e due ]
    run -1 rowlock jobs nosuch --now
    [[ $output == *"no job 'nosuch' is known"* ]]
    start_node soon2
    run -75 rowlock jobs soon2 --now
    [[ $output == "rowlock: the job 'soon2' runs on $(hostname) since 20"* ]]
    [[ $output == *"stop it: rowlock break 'job:soon2'" ]]
    end_by_term "$node"
    token=$(rowlock hold --note 'ask Ann' job:soon)
    run -75 rowlock jobs soon --now
    [[ $output == *"paused by $(hostname) since 20"*", note: ask Ann; "* ]]
    [[ $output == *": rowlock release 'job:soon' --token $token" ]]
    rowlock release job:soon --token "$token"
    start_rowlock run job:soon -- sh -c "$(pid_into by-hand); sleep 970"
    until_true is_there by-hand
    run rowlock jobs soon --now
    kill -s TERM "$started"
    [ "$status" = 75 ]
    [[ $output == *"its name is held: rowlock ls job:soon shows the holder"* ]]
}

@test "--now is refused while a transaction holds the job's name, and names the holder" {
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] || return 0 # there run --tx is refused
    job mine "${rarely[@]}" -- true
    due=$(view mine next_run)
    hold job:mine
    run -75 rowlock jobs mine --now
    [[ $output == *"'mine' is not made due: "*"held"* ]]
    [ "$(view mine next_run)" = "$due" ]
    let_go
    rowlock jobs mine --now
    job mine "${rarely[@]}" -- touch ran
    [ -e ran ]
}

@test "--check: slow, while a run takes three times as long as the runs before" {
    job lazy "${rarely[@]}" -- true
    changed run "finished = started + 10000 WHERE job = 'lazy'"
    changed job "due = 1000000000000 WHERE name = 'lazy'"
    start_node lazy
    checked 0 "fine: 1 job" lazy
    changed run "started = started - 31000 WHERE job = 'lazy' AND outcome = 'running'"
    checked 1 "slow: 'lazy' since 20* on $(hostname)" lazy
    [ "$(view lazy state)" = slow ]
    changed run "started = started - 600000, finished = started + 250000
        WHERE job = 'lazy' AND outcome = 'done'" # 250 s, or where columns change in turn, more
    checked 0 "fine: 1 job" lazy
    end_by_term "$node"
    start_node first
    changed run "started = started - 3600000 WHERE job = 'first'"
    checked 0 "fine: 1 job" first # there is no average
    end_by_term "$node"
}

@test "a job is not paused by a run, its minimum hold, or a lease that a process keeps" {
    job stays "${rarely[@]}" --at-least 1h -- true
    is_held job:stays
    [ "$(view stays state)" = fine ]
    start_node runs
    [ "$(view runs state)/$(view runs paused_token)" = fine/ ]
    end_by_term "$node"
    until_true is_free job:runs
    start_rowlock run job:runs -- sh -c "$(pid_into kept); sleep 970"
    until_true is_there kept
    [ -z "$(view runs paused_token)" ]
    kill -s TERM "$started"
}

@test "--forget: not while it runs; afterwards the job is unknown" {
    start_node a
    run -75 rowlock jobs a --forget
    [[ $output == *"the job 'a' runs"* ]]
    end_by_term "$node"
    rowlock jobs a --forget
    [ "$(rowlock --json jobs)" = "[]" ]
    run -1 rowlock jobs a --forget
    [[ $output == *"no job 'a' is known"* ]]
    [ "$(sql "SELECT count(*) FROM ${ours}run")" = 0 ]
}
