#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The members of every verb's JSON are those that its manual page lists.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: sqlite/native
# Rest: sqlite/native

load lib

# The names of all members in the JSON on standard input.
members() { grep -oE '"[a-z_]+":' | tr -d '":' | sort -u; }
manual_words() { # VERB: the words of its text from the first --json on, also of the options
    sed -n '/json/,$p' "$BATS_TEST_DIRNAME/../../man/verbs/$1.txt" | tr -c 'a-z_\n' ' ' |
        tr ' ' '\n' | sort -u
}
# documented VERB MEMBER...: the answer on standard input has exactly these, and the manual has them
documented() {
    local verb=$1
    tee answer | members >found
    shift
    printf '%s\n' "$@" | sort -u >expected
    diff expected found || { cat answer; return 1; }
    manual_words "$verb" >words
    comm -23 expected words >missing
    [ ! -s missing ] || { echo "not in the manual of $verb:"; cat missing; return 1; }
}
ask() { rowlock --json "$@"; }

@test "schema" {
    rowlock schema uninstall --force
    ask schema install --technique "$ROWLOCK_TEST_TECHNIQUE" |
        documented schema schema technique database version
    ask schema upgrade | documented schema schema
}

@test "leases: acquire, hold, renew, check, ls, break, release" {
    ask acquire --ttl 1h a >taken
    documented acquire name token owner expires <taken
    token=$(json '$.token' <taken)
    ask renew a --token "$token" --ttl 2h | documented renew name token owner expires
    ask check a --token "$token" | documented check name token valid left_ms
    ask ls | documented ls name state mode token owner host pid command note since expires limit \
        permits stop kind
    ask break --now a | documented break name broken
    ask hold --note n b >taken
    documented hold name token owner expires <taken
    token=$(json '$.token' <taken)
    ask release b --token "$token" | documented release name token released
    [ "$(cat answer)" = '{"name":"b","token":'"$token"',"released":true}' ]
    run --separate-stderr -123 ask release b --token "$token"
    [ "$output" = '{"name":"b","token":'"$token"',"released":false}' ]
    [[ $stderr == *"token $token is not (or no longer) that of a lease of 'b'"* ]]
}

@test "jobs, with the history and the counts; cron --check" {
    rowlock job a --every 1h -- true
    ask jobs a | documented jobs name schedule next_run running_at running_pid running_since \
        running_token last_due last_started last_finished last_took_ms last_outcome last_exit \
        last_node last_pid last_token last_repeat last_output average_ms failed_since state \
        state_since paused_token paused_by paused_note paused_since paused_until last_success \
        runs_done runs_failed runs_timed_out runs_broken runs_lost runs_late runs_not_started \
        history job due started finished took_ms outcome exit node pid token repeat output
    ask jobs --check | documented jobs name state since
    ask jobs a --now | documented jobs name due_now
    ask jobs a --forget | documented jobs name forgotten
    [ "$(cat answer)" = '{"name":"a","forgotten":true}' ]
    for change in now/due_now forget/forgotten; do
        run --separate-stderr -1 ask jobs a "--${change%/*}"
        [ "$output" = '{"name":"a","'"${change#*/}"'":false}' ]
        [[ $stderr == *"no job 'a' is known"* ]]
    done
    echo '@daily a -- true' >tab
    ask cron tab --check | documented cron name next_run schedule
}

@test "subjects, refresh, expire" {
    ask refresh s --max-age 1h -- true | documented refresh refreshed
    ask subjects | documented subjects subject description status began ended updated age_ms by \
        host pid error exit
    ask expire s | documented expire expired
}

@test "next, vacuum, doctor" {
    ask next n | documented next name first last
    ask vacuum | documented vacuum removed
    ask doctor --only schema | documented doctor check status finding advice
    ask doctor --list | documented doctor check about
}
