#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# claim, finish: a job by SQL alone is the same job as that of the command. docs/sql-jobs.md.
# Runs on: postgresql/native

# shellcheck disable=SC2154
load lib

teardown() {
    close_sessions
    end_sessions
    sql "DELETE FROM rowlock.lease; DELETE FROM rowlock.job;
         DELETE FROM rowlock.run"
}

# claim JOB SCHEDULE [ARGUMENTS]: its state, the token if any, and the number of the retry
claim() {
    db "SELECT concat_ws(' ', state, token, repeats)
          FROM rowlock.claim('$1', '$2', gen_random_uuid()::text${3:+, $3})"
}
claimed() { # the same, of a run that must be claimed: its token
    local state token
    read -r state token _ <<<"$(claim "$@")"
    [ "$state" = claimed ] && echo "$token"
}
outcome() { db "SELECT outcome || ' ' || exit FROM rowlock.run WHERE token = $1"; }
make_due() {
    db "UPDATE rowlock.job SET version = version + 1,
        due = floor(extract(epoch FROM clock_timestamp())::numeric * 1000)::bigint - 1"
}
expire() { # the lease of a token: its client died
    db "UPDATE rowlock.lease SET expires = now() - interval '1 s' WHERE token = $1"
}

@test "one client claims a run, and has it until it finishes" {
    token=$(claimed mail 'every 50w')
    [ "$(claim mail 'every 50w')" = running ]
    [ "$(item job:mail '$[0].token')" = "$token" ]
    run -75 rowlock run -n job:mail -- true
    [ "$(rowlock --json jobs mail | jq -r '.[0].history[0].token')" = "$token" ]
    db "SELECT rowlock.finish($token, output => '37 mails')"
    [ "$(outcome "$token")" = 'done 0' ]
    [ "$(claim mail 'every 50w')" = waiting ]
    rowlock jobs mail | grep '37 mails'
    is_free job:mail
}

@test "the same owner gets its run again, as after a lost reply" {
    call="SELECT token FROM rowlock.claim('mail', 'every 50w', 'an owner of a reply')"
    token=$(db "$call")
    [ "$(db "$call")" = "$token" ]
    [ "$(db "SELECT count(*) FROM rowlock.run")" = 1 ]
}

@test "rowlock job and SQL share the due times and the history of a job" {
    rowlock job mail --every 50w -- true
    [ "$(claim mail 'every 50w')" = waiting ]
    rowlock jobs --now mail
    token=$(claimed mail 'every 50w')
    rowlock job mail --every 50w -- touch started
    [ ! -e started ]
    db "SELECT rowlock.finish($token, 'failed', 'no connection')"
    [ "$(rowlock --json jobs mail | jq -r '[.[0].history[].outcome] | join(" ")')" = 'failed done' ]
}

@test "a run is recorded as lost and repeated when its client died" {
    token=$(claimed mail 'every 50w')
    expire "$token"
    read -r state second repeats <<<"$(claim mail 'every 50w')"
    [ "$state/$repeats" = claimed/1 ]
    [ "$(outcome "$token")" = 'lost 0' ]
    [ "$(db "SELECT rowlock.finish($token)")" = f ]
    [ "$(outcome "$token")" = 'late 0' ]
    db "SELECT rowlock.finish($second)"
}

@test "a failed run is repeated as often as retry says, after the pause" {
    terms="retry => 1, backoff => '0'"
    token=$(claimed mail 'every 50w' "$terms")
    db "SELECT rowlock.finish($token, 'failed', 'first')"
    read -r state token repeats <<<"$(claim mail 'every 50w' "$terms")"
    [ "$state/$repeats" = claimed/1 ]
    db "SELECT rowlock.finish($token, 'failed', 'second', 3)"
    [ "$(outcome "$token")" = 'failed 3' ]
    [ "$(claim mail 'every 50w' "$terms")" = waiting ]
}

@test "one run replaces missed due times, or none does" {
    [ "$(claim report '0 3 * * *')" = waiting ]
    for missed in skip once; do
        db "UPDATE rowlock.job SET version = version + 1, last = due - 3 * 86400000,
                                   due = due - 2 * 86400000"
        claim report '0 3 * * *' "missed => '$missed'" >"$missed"
    done
    [ "$(cat skip)" = waiting ]
    grep '^claimed' once
}

@test "hold keeps a job from running; at_least keeps its name" {
    [ "$(claim mail 'every 1s' "at_least => '1 h'" | cut -d' ' -f1)" = claimed ]
    db "SELECT rowlock.finish(token) FROM rowlock.run"
    [ "$(claim mail 'every 1s' "at_least => '1 h'")" = running ]
    sql "DELETE FROM rowlock.lease"
    rowlock hold job:mail --for 1h --note 'new disks'
    make_due
    [ "$(claim mail 'every 50w')" = running ]
}

@test "another node's schedule is named" {
    claim mail 'every 50w' >first
    [ "$(db "SELECT former_schedule
               FROM rowlock.claim('mail', '0 3 * * *', gen_random_uuid()::text)")" = 'every 50w' ]
}

# The server looks for a deadlock sooner than a claim stops waiting for a name.
@test "a claim that has planned the job does not wait for the name, whose holder waits for it" {
    db "SELECT rowlock.finish($(claimed mail 'every 50w'))"
    due=$(db "UPDATE rowlock.job SET version = version + 1,
                     last = extract(epoch FROM clock_timestamp()) * 1000 + 5000
              RETURNING rowlock.due('every 1s', last, 1)")
    for session in job name claim; do open_session $session; done
    in_session job BEGIN "SELECT FROM rowlock.job FOR UPDATE"
    in_session name BEGIN "SELECT rowlock.exclusive('job:mail')"
    ask claim "SELECT state FROM rowlock.claim('mail', 'every 1s', gen_random_uuid()::text)"
    until_true waiting 1
    ask name "UPDATE rowlock.job SET version = version"
    until_true waiting 2
    until_true is_past "$due"
    in_session job ROLLBACK
    answer claim '^running$'
    in_session name COMMIT
    run ! grep ERROR claim name
}
waiting() { # N: so many sessions wait for a row
    [ "$(sql "SELECT count(*) FROM pg_stat_activity
               WHERE datname = current_database() AND wait_event_type = 'Lock'")" = "$1" ]
}
is_past() { [ "$(db "SELECT $1 < extract(epoch FROM clock_timestamp()) * 1000")" = t ]; }

@test "wrong arguments are refused with an advice" {
    refused() { # TEXT ARGUMENTS
        run -3 db "SELECT rowlock.claim($2)"
        [[ $output == *"$1"* ]]
    }
    owner="'an owner of sixteen bytes'"
    refused 'allowed are 0 to 59' "'x', '60 * * * *', $owner"
    refused 'not a period' "'x', 'every day', $owner"
    refused 'Europe/Paris' "'x', '@daily', $owner, zone => 'europe/paris'"
    refused 'Atlantis' "'x', '@daily', $owner, zone => 'Atlantis'"
    refused 'not a time zone' "'x', '@daily', $owner, zone => '5'"
    refused '16 to 64 bytes' "'x', '@daily', 'me'"
    refused 'once or skip' "'x', '@daily', $owner, missed => 'never'"
    refused 'retry is at least 0' "'x', '@daily', $owner, retry => -1"
    refused 'ttl must be' "'x', '@daily', $owner, ttl => '1 ms'"
    refused '1 to 255 bytes' "repeat('x', 252), '@daily', $owner"
    run -3 db "SELECT rowlock.finish(1, 'well')"
    [[ $output == *'outcome is done'* ]]
    [ "$(db "SELECT count(*) FROM rowlock.job")" = 0 ]
}

@test "the output keeps its last 2048 bytes, in whole characters" {
    token=$(claimed mail 'every 50w')
    db "SELECT rowlock.finish($token, output => repeat('é', 3000) || 'end')"
    [ "$(db "SELECT octet_length(output) BETWEEN 2040 AND 2048 AND output LIKE '%éend'
               FROM rowlock.run")" = t ]
}

@test "the program of the page runs a job once" {
    sql "CREATE TABLE bond (handled integer); INSERT INTO bond VALUES (0);
         GRANT ALL ON bond TO PUBLIC"
    # otherwise it may become due between the two
    sed 's/every 5m/every 50w/' "$BATS_TEST_DIRNAME/../../examples/sql/job.sql" >job.sql
    for _ in 1 2; do
        psql -qXAt -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_URL" -f job.sql
    done
    [ "$(sql "SELECT handled FROM bond")" = 1 ]
    sql "DROP TABLE bond"
    rowlock jobs prices | grep 'prices are refreshed'
}
