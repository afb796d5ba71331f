#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hold: maintenance. All commands on the name are refused while it lasts, and each refusal names the
# reason.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: sqlite/native

load lib

@test "p1 hold excludes all other callers, and reports until when" {
    "$ROWLOCK" --db "$ROWLOCK_TEST_URL" hold --for 2h --note 'new disks, ask Ann' farm >token 2>said
    [[ $(cat token) =~ ^[1-9][0-9]*$ ]]
    [[ $(cat said) == \
        "rowlock: 'farm' is held until 20"*" +0000; "*\
"rowlock release 'farm' --token $(cat token)" ]]
    [ "$(wc -l <said)" = 1 ]
    run -75 rowlock acquire -n --ttl 1s farm
    [[ $output == *', note: "new disks, ask Ann"'* ]]
    [[ $output == *"'farm' is held by a lease on $(uname -n) (hold), "* ]]
    [ "$(item farm '$[0].mode')/$(item farm '$[0].note')" = "exclusive/new disks, ask Ann" ]
    [ "$(item farm '$[0].pid')" = "" ] # no process keeps it
    [[ $(rowlock ls farm) == *" $(uname -n) hold "* ]]
    rowlock release farm --token "$(cat token)"
    is_free farm
}

@test "hold without --for lasts until it is released, and every output shows that" {
    rowlock hold --note 'new disks' endless >token 2>said
    [ "$(cat said)" = "rowlock: 'endless' is held until it is released: \
rowlock release 'endless' --token $(cat token)" ]
    [[ $(rowlock ls endless) =~ \ exclusive\ +[^\ ]+\ +-\ +"$(cat token)"\  ]]
    [ "$(rowlock --json ls endless | json_sql "json_type(document, '\$[0].expires')")" = null ]
    run -75 rowlock acquire -n --ttl 1s endless
    [[ $output == *", until it is released, note: \"new disks\""* ]]
    run rowlock break endless
    [[ $output == *": the name is taken until release; to free it now: rowlock break --now "* ]]
    rowlock renew endless --token "$(cat token)" --ttl 1s && exit 1 # it was broken
    run -123 rowlock release endless --token "$(cat token)"
    [[ $output == *broken* ]]
    is_free endless
    rowlock --json hold --note why endless >one 2>said
    [ ! -s said ]
    [ "$(json_sql "json_type(document, '\$.expires')" <one)" = null ]
    token=$(json '$.token' <one)
    rowlock renew endless --token "$token" --ttl 1s 2>said # it never ends earlier
    [ "$(cat said)" = "rowlock: 'endless' is held until it is released; --ttl does not shorten \
that: rowlock release 'endless' --token $token ends it" ]
    rowlock renew endless --token "$token" 2>said
    [ ! -s said ]
    rowlock --json renew endless --token "$token" --ttl 1s 2>/dev/null >one
    [ "$(json_sql "json_type(document, '\$.expires')" <one)" = null ]
    [ "$(rowlock --json ls endless | json_sql "json_type(document, '\$[0].expires')")" = null ]
    rowlock --json check endless --token "$token" >one
    [ "$(json_sql "json_type(document, '\$.left_ms')" <one)" = null ]
    [ "$(json_sql "json_extract(document, '\$.valid')" <one)" = 1 ]
    [ "$(rowlock check endless --token "$token")" = 'valid until it is released' ]
    rowlock metrics --name endless >samples
    grep -q '^rowlock_lease_held{name="endless",mode="exclusive"} 1$' samples
    run ! grep '^rowlock_lease_expiry_timestamp_seconds{' samples
    rowlock release endless --token "$token"
    is_free endless
}

@test "hold of a name that a job has shows how to pause the job" {
    rowlock job mail --every 1h -- true
    rowlock hold --for 1h --note n mail 2>said
    grep -qx "rowlock: the job 'mail' is not paused by that: rowlock hold --note TEXT 'job:mail'" \
        said
    rowlock hold --for 1h --note n job:mail 2>said
    [ "$(wc -l <said)" = 1 ]
}

@test "hold of job:NAME, where no job has that name, reports it" {
    rowlock hold --for 1h --note n job:mial 2>said
    grep -qx "rowlock: no job 'mial' is known yet; \`rowlock jobs\` lists those that are" said
    [ "$(wc -l <said)" = 2 ]
}
