#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# demo: the program of the first article.
# Runs on: sqlite postgresql mariadb
# Quick: sqlite/native

load lib

ask() { # EXPRESSION over the events in the file json
    sqlite3 :memory: "WITH line AS (
        SELECT key AS at, value ->> 't_ms' AS t_ms, value ->> 'worker' AS worker,
               value ->> 'event' AS event
        FROM json_each('[' || replace(rtrim(CAST(readfile('json') AS TEXT), char(10)),
                                      char(10), ',') || ']'))
        $1"
}

@test "three columns with a heading, then handovers and overlaps" {
    run -0 rowlock demo --hold 20ms
    [[ ${lines[-1]} =~ ^2\ hand-overs,\ median\ [0-9.]+\ ms,\ worst\ [0-9.]+\ ms,\ overlaps\ 0$ ]]
    [ "${lines[0]}" = $'MS\tWORKER\tEVENT' ]
    lines=("${lines[@]:1:${#lines[@]}-2}")
    for line in "${lines[@]}"; do [[ $line =~ ^[0-9]+$'\t'[0-3]$'\t'.+$ ]]; done
    [ "$(printf '%s\n' "${lines[@]}" | grep -c 'Lock acquired$')" = 3 ]
    [[ ${lines[0]} == *$'\t0\tStarted...' ]]
    [[ ${lines[-1]} == *$'\t0\tDone !' ]]
    printf '%s\n' "${lines[@]}" | sort -snc -k1,1
}

@test "--json: one object per line; each release comes before the next acquisition" {
    rowlock demo --json --workers 5 --hold 5ms >json
    cat json
    [ "$(ask 'SELECT count(*) FROM line')" = 25 ]
    [ "$(ask "SELECT group_concat(DISTINCT event) FROM (SELECT event FROM line
              ORDER BY event)")" = \
        acquired,done,released,started,waiting ]
    [ "$(ask "SELECT group_concat(event) FROM line WHERE event IN ('acquired', 'released')")" = \
        "$(yes acquired,released | head -n 5 | paste -sd,)" ]
    # no worker releases another worker's lock
    [ "$(ask "SELECT count(*) FROM (SELECT worker, lead(worker) OVER (ORDER BY at) AS next, event
              FROM line WHERE event IN ('acquired', 'released'))
              WHERE event = 'acquired' AND worker <> next")" = 0 ]
    [ "$(ask "SELECT count(DISTINCT worker) FROM line WHERE event = 'done' AND worker BETWEEN 1
              AND 5")" = 5 ]
    [ "$(ask "SELECT count(*) FROM (SELECT t_ms, lag(t_ms) OVER (ORDER BY at) AS before FROM line)
              WHERE t_ms < before OR typeof(t_ms) <> 'integer'")" = 0 ]
}

@test "--hold: a bare number is milliseconds, a unit is a unit" {
    run -0 rowlock demo --workers 1 --hold 1
    [[ ${lines[-1]} == "0 hand-overs"* ]]
    run -0 rowlock demo --workers=2 --hold=0.001s
    [[ ${lines[-1]} == "1 hand-overs"* ]]
}
