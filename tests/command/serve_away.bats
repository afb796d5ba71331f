#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# serve while its server is away; and how few queries it sends.
# Runs on: postgresql/native mariadb/row
# Quick: postgresql/native

load lib
load serve.bash
load own_server.bash

setup_file() {
    need_serve
    use_own
    rowlock schema install
}

is_old() { shows $overview '.outage == $text and .age_ms > 0' --arg text "$1"; }
is_new() { shows $overview '.error == null'; }

@test "the database restarts: the documents have the last state with its age, then the new one" {
    take one
    start_serve
    shows $overview '.held[0].name == "one" and .error == null'
    get '/api/ls.json?name=one&old=1'
    stop_server "$own"
    until_true is_old 'the database does not answer'
    shows $overview '.held[0].name == "one"' # still there
    shows '/api/ls.json?name=one&old=1' '.[0].name == "one"'
    grep -q '^Age: ' head
    status_is 503 GET /api/ls.json
    grep -q '^{"error":"' body
    get /metrics
    perl "$lib/exposition.pl" <body >found
    grep -qx 'rowlock_up 0' found
    [ "$(wc -l <found)" = 2 ]
    until_true grep -q 'the database does not answer' err
    start_own
    until_true is_new
    take two
    until_true shows $overview 'any(.held[]; .name == "two")'
    until_true grep -q 'the database answers again' err
    [ "$(grep -c 'does not answer' err)" = 1 ] # reported once
    stop_serve
}

@test "a schema that becomes too new: the overview and the log name it as the reason" {
    start_serve
    is_new
    current=$(sql "SELECT version FROM ${ours}meta")
    sql "UPDATE ${ours}meta SET version = 99"
    end_sessions # a session checks the schema once
    until_true is_old 'the database cannot be used'
    shows $overview '.error | contains("version 99, newer than this library")'
    grep -q 'the database cannot be used: the schema is version 99, newer' err
    sql "UPDATE ${ours}meta SET version = $current"
    until_true is_new
}

@test "a session that the server ended is replaced before a viewer sees an error" {
    start_serve
    is_new
    end_sessions
    take three
    until_true shows $overview 'any(.held[]; .name == "three")'
    if grep 'does not answer' err; then return 1; fi
}

@test "started while the database is away, its documents explain it, and then have the data" {
    stop_server "$own"
    start_serve
    get /
    is_page
    for document in overview ls jobs; do
        status_is 503 GET "/api/$document.json?old=1"
        grep -q '^{"error":"' body
    done
    start_own
    until_true is_new
    get /api/ls.json
}

# Every set of queries lists all subjects, once.
sets() {
    case $ROWLOCK_TEST_ENGINE in
    mariadb) sql "SELECT count(*) FROM mysql.general_log WHERE command_type <> 'Prepare'
                  AND argument LIKE 'CALL rowlock_subject_list%'" ;;
    postgresql) grep -cE "LOG:  (statement|execute).*SELECT pg_catalog.convert_to\(s.name" \
        "$own_log" || true ;;
    esac
}
# For three seconds: there is no viewer, and no event to wait for. A set that the last viewers asked
# for may still come.
has_no_more_sets() {
    local before
    before=$(sets)
    sleep 3
    [ "$(sets)" = "$before" ]
}
log_statements() { # on|off
    case $ROWLOCK_TEST_ENGINE/$1 in
    mariadb/on) sql "SET GLOBAL log_output = 'TABLE'; SET GLOBAL general_log = 1" ;;
    mariadb/off) sql "SET GLOBAL general_log = 0" ;;
    postgresql/on) sql "ALTER ROLE tester SET log_statement = 'all'" ;;
    postgresql/off) sql "ALTER ROLE tester RESET log_statement" ;;
    esac
}

@test "20 viewers: at most one set of queries a second, and none without a viewer" {
    rowlock job one --every 50w -- true
    rowlock job two --every 50w -- true
    log_statements on
    start_serve
    get $overview
    local before after seconds bad
    before=$(sets)
    [ "$before" -ge 1 ]
    read -r seconds bad < <(perl "$lib/http.pl" "$address" viewers 20 15 $overview \
        '/api/jobs.json?name=one' '/api/jobs.json?name=two' '/api/ls.json?name=x' /api/ls.json \
        /metrics)
    after=$(sets)
    echo "$((after - before)) sets in $seconds s; $bad bad answers"
    [ "$bad" = 0 ]
    [ $((after - before)) -le $((seconds + 1)) ]
    until_true has_no_more_sets
    log_statements off
}
