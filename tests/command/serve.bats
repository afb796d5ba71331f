#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# serve: its documents with the rows of each database. serve_http.bats tests the rest.
# Runs on: sqlite postgresql mariadb
# Quick: sqlite/native
# Rest: postgresql/native

load lib
load serve.bash

@test "an empty farm: the page at each address, and documents that are empty" {
    start_serve
    for page in / /locks /lock?name=x /jobs /job?name=x /subjects /history; do
        get $page
        is_page
    done
    shows $overview '.totals | del(.waiting_since) | all(. == 0)'
    shows $overview '[.queues, .held, .jobs, .cycles, .bad_jobs, .bad_subjects, .bad_leases]
        | all(. == [])'
    shows $overview '.error == null and .age_ms < 5000 and (.version | startswith("0"))'
    for verb in ls jobs subjects log; do
        same "/api/$verb.json" "$verb"
    done
    stop_serve
}

@test "holders, waiters and permits: in the overview and in the list of a name" {
    take one --note 'a note'
    take seats --limit 3
    start_rowlock acquire --ttl 1h -w 1h --note 'in a hurry' one
    start_serve
    until_true shows '/api/ls.json?name=one&old=1' '.[1].note == "in a hurry"'
    grep -q '^Age: 0' head
    shows '/api/ls.json?name=one&old=1' '.[0].note == "a note" and length == 2'
    until_true shows $overview '.queues == [{name: "one", waiting: 1, since: .queues[0].since,
        holder: .queues[0].holder}] and .queues[0].holder.note == "a note"'
    shows $overview '.totals | .held == 2 and .waiting == 1 and .queues == 1 and .waiting_since'
    shows /api/ls.json '.[] | select(.name == "seats") | .permits == 1 and .limit == 3'
    rowlock break one
    until_true shows $overview '.bad_leases[0].name == "one" and .totals.stopping == 1'
}

@test "jobs: state, output and history; of a job that is not known the list is empty" {
    run rowlock job broken --every 50w -- sh -c 'echo first; echo last; exit 7'
    rowlock job good --every 50w -- true
    start_serve
    shows '/api/jobs.json?old=1' '[.[] | [.name, .state, .last_exit]] |
        sort == [["broken", "failing", 7], ["good", "fine", 0]]'
    shows $overview '.bad_jobs[0].name == "broken" and .totals.job_problems == 1'
    shows $overview '[.jobs[].name] == ["broken", "good"]'
    shows '/api/jobs.json?name=broken&old=1' '.[0].history[0].output == "first\nlast\n"'
    shows '/api/jobs.json?name=unknown&old=1' '. == []'
}

@test "a held job is paused, not a problem" {
    rowlock job held --every 50w -- true
    rowlock hold job:held --note 'the disk is full' >/dev/null
    held+=(job:held)
    start_serve
    shows '/api/jobs.json?name=held&old=1' \
        '.[0].state == "paused" and .[0].paused_note == "the disk is full"'
    shows $overview '.totals.job_problems == 0 and .bad_jobs == []'
}

@test "subjects: their age, and the last refresh" {
    rowlock refresh prices --max-age 1h -- true
    run rowlock refresh rates --max-age 1h -- sh -c 'echo no route >&2; exit 3'
    start_serve
    shows '/api/subjects.json?old=1' \
        '[.[] | [.subject, .status]] == [["prices", "COMPLETE"], ["rates", "ERROR"]]'
    shows $overview '.bad_subjects[0].subject == "rates" and .totals.subject_problems == 1'
    shows $overview '.bad_subjects[0].error | contains("no route")'
}

@test "the documents equal the verbs' JSON, also those of one name" {
    take 'a "name" / with ü' --note 'x'
    take two
    run rowlock job broken --every 50w --retry 1 --backoff 0 -- sh -c 'echo out; exit 7'
    run rowlock job broken --every 50w --retry 1 --backoff 0 -- sh -c 'echo out; exit 7'
    rowlock refresh prices --max-age 1h -- true
    start_serve
    same /api/ls.json ls
    same "/api/ls.json?name=$(encoded 'a "name" / with ü')" ls 'a "name" / with ü'
    same /api/ls.json?name=free ls free
    same /api/jobs.json jobs
    same /api/jobs.json?name=broken jobs broken
    same /api/jobs.json?name=unknown jobs unknown
    same /api/subjects.json subjects
    same /api/subjects.json?name=prices subjects prices
    grep -q '^Content-Type: application/json' head
}

@test "history: ended leases, waiters that gave up and runs, with a timeline" {
    for name in old 'o[l]d*'; do # a revoked lease is always kept
        rowlock acquire --ttl 1h "$name" --note 'a past note'
        rowlock break --now "$name"
    done
    take busy
    run rowlock acquire -w 0.2 busy
    run rowlock job failed --every 50w -- false
    start_serve
    shows '/api/log.json?old=1' 'any(.name == "old" and .note == "a past note")'
    shows '/api/log.json?old=1' 'any(.how == "gave up")'
    # a name, not a pattern
    shows "/api/log.json?old=1&name=$(encoded 'o[l]d*')" 'length == 1 and .[0].name == "o[l]d*"'
    same /api/log.json log
    same /api/log.json?name=old log old
    same /api/log.json?name=never log never
    same /api/log.json?name=failed log failed
    get /timeline.svg?name=old
    grep -q '^Content-Type: image/svg+xml' head
    grep -q "^Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'" head
    grep -q '<svg' body
}

@test "the metrics are those of the verb" {
    take one
    start_serve
    get '/metrics?name=o*'
    grep -q '^Content-Type: text/plain; version=0.0.4' head
    perl "$lib/exposition.pl" <body | grep -v duration >found
    rowlock metrics --name 'o*' | perl "$lib/exposition.pl" | grep -v duration >expected
    sed -i '/oldest_wait/d' expected found
    cmp expected found
    grep -qxF 'rowlock_lease_held{name=one,mode=exclusive} 1' found
    grep -qx 'rowlock_up 1' found
}

@test "callers that wait for each other are a cycle in the overview" {
    start_serve
    shows $overview '.cycles == [] and .totals.cycles == 0'
    start_cycle 'one<b>' two
    two=$started
    until_true shows $overview '[.cycles[] | sort] == [["one<b>", "two"]]'
    shows $overview '.totals.cycles == 1'
    kill -s TERM "$two"
    until_true shows $overview '.cycles == []'
}
