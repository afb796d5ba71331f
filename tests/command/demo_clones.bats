#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# demo clones: five clones of a program share the job of sending one mail, on the database that --db
# names.
# Runs on: sqlite postgresql mariadb
# Quick: sqlite/native

load lib

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir temp
    export TMPDIR=$PWD/temp
}

ask() { # EXPRESSION over the events in the file json
    sqlite3 :memory: "WITH line AS (
        SELECT key AS at, value ->> 'event' AS event, value ->> 'act' AS act,
        value ->> 'clone' AS clone,
               value ->> 't_ms' AS t_ms, value ->> 'token' AS token, value ->> 'due' AS due,
               value ->> 'sent' AS sent, value ->> 'twice' AS twice,
               value ->> 'late_refused' AS refused,
               value ->> 'runs' AS runs, value ->> 'lost' AS lost
        FROM json_each('[' || replace(rtrim(CAST(readfile('json') AS TEXT), char(10)),
                                      char(10), ',') || ']'))
        $1"
}

is() { # VALUE EXPRESSION
    local found
    found=$(ask "$2")
    [ "$found" = "$1" ] || { echo "'$found' instead of '$1': $2"; return 1; }
}

@test "without rowlock five mails; with it one, also if the sender is killed or frozen" {
    rowlock demo clones --json --ttl 6s >json
    cat json
    is "$(printf '%s\n' '1|1|5|4|0|0|0' '2|1|1|0|0|1|0' '3|1|1|0|0|2|1' '4|1|1|0|1|2|1')" \
        "SELECT act, due, sent, twice, refused, runs, lost FROM line WHERE event = 'counts'"
    # the counts agree with the reports of the processes
    is '5|1|1|1' "SELECT group_concat(n, '|') FROM (SELECT count(*) AS n FROM line
                  WHERE event = 'sent' GROUP BY act ORDER BY act)"
    is 20 "SELECT count(*) FROM (SELECT DISTINCT act, clone FROM line WHERE event = 'ready'
           AND clone BETWEEN 1 AND 5)"
    # a killed clone reports nothing more, and another one sends
    is 0 "SELECT count(*) FROM line AS dead JOIN line AS said USING (act, clone)
          WHERE dead.event = 'killed' AND said.at > dead.at AND said.event <> 'counts'"
    is 1 "SELECT count(*) FROM line AS dead JOIN line AS sent USING (act)
          WHERE dead.event = 'killed' AND sent.event = 'sent' AND sent.clone <> dead.clone"
    # a frozen clone wakes after another has claimed the job, and its old token is refused
    is 'frozen,claimed,woken,refused,lost' "SELECT group_concat(event) FROM (
          SELECT line.event FROM line JOIN line AS frozen USING (act) WHERE frozen.event = 'frozen'
          AND line.at >= frozen.at
          AND (line.clone = frozen.clone OR line.event = 'claimed') ORDER BY line.at)"
    is 1 "SELECT count(*) FROM line AS frozen JOIN line AS refused USING (act, clone, token)
          JOIN line AS sent USING (act)
          WHERE frozen.event = 'frozen' AND refused.event = 'refused' AND sent.event = 'sent'
          AND sent.token > frozen.token"
    is 0 "SELECT count(*) FROM (SELECT t_ms, lag(t_ms) OVER (ORDER BY at) AS before FROM line
          WHERE event <> 'counts')
          WHERE t_ms < before OR typeof(t_ms) <> 'integer'"
    # nothing is left
    [ -z "$(ls -A temp)" ]
    [ "$(sql "SELECT (SELECT count(*) FROM ${ours}job) + (SELECT count(*) FROM ${ours}run)")" = 0 ]
    [ "$(rowlock ls --json)" = '[]' ]
}
