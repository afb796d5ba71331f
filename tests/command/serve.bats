#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# serve: its pages and documents with the rows of each database. serve_http.bats tests the rest.
# Runs on: sqlite postgresql mariadb
# Quick: sqlite/native
# Rest: postgresql/native

load lib
load serve.bash

@test "an empty farm: each page explains how to begin, and the documents are empty" {
    start_serve
    shows / "No lock is held"
    shows / "No problems"
    shows /locks "No lock is held or waited for"
    for page in / /jobs; do shows $page "<code>rowlock job</code> in a crontab"; done
    shows /subjects "No subject was refreshed yet"
    shows /lock?name=free "is free"
    for verb in ls jobs subjects log; do
        shows / "\"/api/$verb.json\""
        same "/api/$verb.json" "$verb"
    done
    stop_serve
}

@test "holders, waiters and permits, on the overview, the list and the page of a name" {
    take one --note 'a note'
    take seats --limit 3
    start_rowlock acquire --ttl 1h -w 1h --note 'in a hurry' one
    start_serve
    until_true shows /lock?name=one "in a hurry"
    shows /lock?name=one "a note"
    shows / 'href="/lock?name=one"'
    shows / "Longest wait"
    shows /locks "1 of 3 permits"
    shows /lock?name=seats "1 of 3 permits"
    get '/locks?q=SEA'
    grep -q 'name=seats' body
    if grep -q 'name=one' body; then return 1; fi
    shows '/locks?q=hurry' 'name=one'
    rowlock break one
    until_true shows / "told to stop"
}

@test "jobs: state, output and history; a job that is not known is 404" {
    run rowlock job broken --every 50w -- sh -c 'echo first; echo last; exit 7'
    rowlock job good --every 50w -- true
    start_serve
    shows /jobs 'href="/job?name=broken"'
    shows /jobs "exit 7"
    shows / "has failed for"
    shows /job?name=broken "exit 7"
    grep -qx 'last' body # a line of the output
    shows /job?name=good "printed nothing"
    status_is 404 GET /job?name=unknown
    is_page
    grep -q "No node has asked for this job" body
}

@test "a held job is paused, not a problem" {
    rowlock job held --every 50w -- true
    rowlock hold job:held --note 'the disk is full' >/dev/null
    held+=(job:held)
    start_serve
    shows /job?name=held "the disk is full"
    grep -q 'pill calm">paused' body
    shows / "No problems"
    shows /lock?name=job%3Aheld 'href="/job?name=held"'
}

@test "subjects: their age, and the last refresh" {
    rowlock refresh prices --max-age 1h -- true
    run rowlock refresh rates --max-age 1h -- sh -c 'echo no route >&2; exit 3'
    start_serve
    shows /subjects prices
    shows /subjects COMPLETE
    shows /subjects "no route"
    shows / "the last refresh failed"
    get '/subjects?q=rat'
    if grep -q prices body; then return 1; fi
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
    shows /history 'name=old'
    grep -q 'src="/timeline.svg?name=&amp;v=[0-9]*"' body
    grep -q 'gave up' body
    shows /lock?name=old 'a past note'
    if grep -q 'busy' body; then return 1; fi
    get "/lock?name=$(encoded 'o[l]d*')" # a name, not a pattern
    is_page
    grep -q 'History <span class="count">1<' body
    same /api/log.json log
    same /api/log.json?name=old log old
    same /api/log.json?name=never log never
    same /api/log.json?name=failed log failed
    shows /lock?name=failed 'name=job%3Afailed' # with the runs of the job of that name
    get /timeline.svg?name=old
    grep -q '^Content-Type: image/svg+xml' head
    grep -q "^Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'" head
    grep -q '<svg' body
    shows '/history?q=PAST' 'name=old'
    if grep -q 'name=busy' body; then return 1; fi
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

@test "callers that wait for each other are a problem on the first page" {
    start_serve
    shows_not / '>cycle</span>'
    start_cycle 'one<b>' two
    two=$started
    until_true shows / '>cycle</span>'
    shows / '<div>Lock <a class="name" href="/lock?name=one'
    shows / '<bdi>one&lt;b&gt;</bdi></a>, <a class="name" href="/lock?name=two">'
    shows / '<bdi>two</bdi></a>: the holder of each waits for another of them.'
    shows / 'class="tile alarm" href="/locks"><span class="label">Waiting'
    kill -s TERM "$two"
    until_true shows_not / '>cycle</span>'
}
