#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# log and schema set history: leases that have ended, waiters that gave up, runs of jobs.
# Runs on: sqlite postgresql mariadb
# Quick: sqlite/native

load lib

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    table=${ours}history
    level slow
    sql "DELETE FROM $table; DELETE FROM ${ours}job; DELETE FROM ${ours}run"
}

level() { rowlock schema set history "$@" >rules; }
entries() { rowlock --json log "$@" | jq -c '.[]'; } # latest first
hows() { entries "$@" | jq -r '"\(.name) \(.how)"'; }
held() { rowlock hold --note "$2" --for "$3" "$1" 2>/dev/null; } # NAME NOTE DUR: its token
ends_badly() { # NAME: a lease that is revoked
    held "$1" 'lost work' 1h >/dev/null
    rowlock break --now "$1"
}
waiting_for() { rowlock --json ls "$1" | jq -e 'any(.state == "waiting")'; }
gives_up() { # NAME [OPTION...]: a waiter that is interrupted
    start_rowlock run "${@:2}" "$1" -- true
    until_true waiting_for "$1"
    kill -INT "$started"
    until_true is_gone "$started"
}
has_expired() { ! rowlock check "$1" --token "$2"; }

@test "a short lease leaves no entry, a revoked one does, with holder and note" {
    rowlock run short -- true
    ends_badly long
    entries >all
    [ "$(wc -l <all)" = 1 ]
    jq -e '.name == "long" and .how == "revoked" and .kind == "lease" and .problem
           and .mode == "exclusive" and .permits == null and .token > 0 and .note == "lost work"
           and (.host | length > 0) and .command == "hold" and .held_ms >= 0 and .waited_ms == 0
           and .exit == null and .acquired <= .ended' all
}

@test "an expired lease ended when it expired: swept by the next holder, by vacuum" {
    held first note 1s >/dev/null
    token=$(held second note 1s)
    until_true has_expired second "$token"
    rowlock run first -- true
    [ "$(hows)" = 'first expired' ]
    rowlock vacuum
    [ "$(hows | sort)" = $'first expired\nsecond expired' ]
    entries | jq -es 'all(.held_ms >= 900 and .held_ms <= 3000)'
}

@test "a lease that is broken has the user, host and process that broke it first" {
    local token broken_by
    token=$(held one note 1h)
    SUDO_USER=ann rowlock break one 2>/dev/null
    SUDO_USER=ben rowlock break one 2>/dev/null
    run -123 rowlock release one --token "$token"
    held two note 1h >/dev/null
    (unset SUDO_USER LOGNAME USER && rowlock break --now two)
    level problems
    LOGNAME=$'c\033[2J' SUDO_USER='' ends_badly three
    level off
    ends_badly four
    level slow
    [ "$(hows)" = $'three revoked\ntwo revoked\none revoked' ]
    entries --limit 3 | jq -r .broken_by >who
    sed "s/@$(hostname):[0-9]*$/ here/; s/^$(hostname):[0-9]*$/here/" who | cat -v >shown
    [ "$(cat shown)" = $'c^[[2J here\nhere\nann here' ]
    [ "$(entries --limit 1 | wc -l)" = 1 ]
    [ "$(entries --limit 2 one | jq -r '.broken_by | test("^ann@.*:[0-9]+$")')" = true ]
    rowlock log | grep -q ' broken by ann@'
    [ "$(rowlock log | grep -c $'\033')" = 0 ]
}

@test "those who broke many leases of a name are written in one transaction" {
    for _ in 1 2 3; do rowlock acquire --shared --ttl 1h many >/dev/null; done
    rowlock break --now many
    [ "$(entries many | jq -r .broken_by | sort -u | wc -l)" = 1 ]
    [ "$(sql "SELECT COUNT(*) FROM $table WHERE token < 0")" = 3 ]
    [ "$ROWLOCK_TEST_ENGINE" != postgresql ] ||
        [ "$(sql "SELECT COUNT(DISTINCT xmin::text) FROM $table WHERE token < 0")" = 1 ]
}

@test "a run of a job that is broken has who broke it; a filter of waits does not hide that" {
    start_rowlock job slow --every 1h -- sleep 60
    until_true is_held job:slow
    SUDO_USER=ann rowlock break job:slow
    until_true is_gone "$started"
    entries | jq -e '.how == "broken" and (.broken_by | test("^ann@"))'
    entries slow --limit 1 | jq -e '.how == "broken" and (.broken_by | test("^ann@"))'
    held busy note 1h >/dev/null
    start_rowlock run busy -- sleep 60
    until_true has_waited busy
    rowlock break --now busy
    until_true is_held busy
    SUDO_USER=ben rowlock break --now busy
    until_true is_gone "$started"
    entries --waited 1s | jq -e '.waited_ms >= 1000 and (.broken_by | test("^ben@"))'
    [ -z "$(entries --waited 1h)" ]
}

# conformance/history has one that gives up after a time limit.
@test "a waiter that is interrupted is listed" {
    level all # else only after a second
    held busy note 1h >/dev/null
    gives_up busy --note mine
    [ "$(hows)" = 'busy gave up' ]
    entries | jq -e '.kind == "waiter" and .token == null and .acquired == null
        and .held_ms == null and .waited_ms >= 0 and .note == "mine" and .problem'
}
has_waited() { # NAME: a waiter, for over a second
    rowlock --json ls "$1" | jq -e 'any(.state == "waiting"
        and (.since | sub("[.][0-9]+Z$"; "Z") | fromdate) < now - 2.5)'
}

# conformance/history has the other levels.
@test "level problems keeps only what ended badly; level off keeps the entries" {
    level problems
    rowlock run one -- true
    ends_badly two
    level off
    [ "$(hows)" = 'two revoked' ]
    [ "$(rowlock --json schema set history | jq -c .)" = \
        '{"history":"off","keep_good_ms":86400000,"keep_bad_ms":604800000}' ]
}

@test "a lease of several names and permits: one entry for each name" {
    level all
    rowlock run one two -- true
    rowlock run --limit 3 --permits 2 many -- true || rowlock run --limit 3 many -- true
    [ "$(hows | sort)" = $'many released\none released\ntwo released' ]
    entries many | jq -e '.mode == "permit" and .permits >= 1'
}

@test "runs of jobs are listed once each, with their result, whatever the level" {
    level all
    run -0 rowlock job good --every 1w -- true
    run -3 rowlock job bad --every 1w -- sh -c 'exit 3'
    [ "$(hows 'job:*')" = $'job:bad failed\njob:good done' ]
    entries job:bad | jq -e '.kind == "run" and .exit == 3 and .problem'
    [ "$(hows --problems)" = 'job:bad failed' ]
}

@test "the name of a job selects its runs, and the entries of its lock" {
    level all
    run -0 rowlock job good --every 1w -- true
    rowlock run good -- true
    held job:good pause 1h >/dev/null
    rowlock break --now job:good
    local all=$'job:good revoked\ngood released\njob:good done'
    [ "$(hows good)" = "$all" ]
    [ "$(hows 'go*')" = "$all" ]
    [ "$(hows 'g[o]?d')" = "$all" ]
    [ "$(hows '*good')" = "$all" ] # matches both ways, and is listed once
    [ "$(hows good --limit 2)" = "${all%$'\n'*}" ]
    [ "$(hows good --problems)" = 'job:good revoked' ]
    [ "$(hows job:good)" = $'job:good revoked\njob:good done' ]
    [ -z "$(hows ood)" ]
    rowlock log goo 2>said
    [ ! -s said ] # not a terminal
    [ "$(rowlock --json log goo)" = '[]' ]
}

@test "on a terminal an empty list explains which entries there are" {
    explained() { # LEVEL [ARGUMENT...]: the output of log on a terminal
        level "$1"
        script -qefc "'$ROWLOCK' --db '$ROWLOCK_TEST_URL' log ${*:2}" /dev/null </dev/null |
            tr -d '\r'
    }
    [[ $(explained slow none) == "rowlock: no entry of 'none' matches; the level of the history is \
slow, which records only leases that ended badly, waited 1 s or were held 10 s, and runs of jobs; \
rowlock schema set history changes that" ]]
    [[ $(explained problems) == "rowlock: no entry matches; "*" problems, which records only "* ]]
    [[ $(explained all) == *" all, which records every lease and every run "*" has passed" ]]
    [[ $(explained off) == *" off, which records only runs of jobs; "* ]]
    [ "$(explained off --json)" = '[]' ]
    level slow
    ends_badly one
    [[ $(explained slow) != *'no entry'* ]]
}

@test "patterns: exact names are not patterns, and % _ ! are characters" {
    for name in 'a%b' a_b 'a!b' axb 'a[b'; do ends_badly "$name"; done
    [ "$(hows 'a%b')" = 'a%b revoked' ]
    [ "$(hows 'a_b')" = 'a_b revoked' ]
    [ "$(hows 'a!b')" = 'a!b revoked' ]
    [ "$(hows 'a\[b')" = 'a[b revoked' ]
    [ "$(hows 'a[x_]b' | sort)" = $'a_b revoked\naxb revoked' ]
    [ "$(hows 'a?b' | wc -l)" = 5 ]
    [ "$(hows 'a*' --limit 2 | wc -l)" = 2 ]
    [ "$(hows 'a[x_]b' --limit 1 | wc -l)" = 1 ]
}

@test "since: a duration, a time of day, a date, a zone" {
    ends_badly one
    [ -n "$(hows --since 1h)" ]
    [ -n "$(hows --since 2020-01-01)" ]
    [ -n "$(hows --since '2020-01-01 02:00')" ]
    [ -n "$(hows --since 2020-01-01T02:00:00Z)" ]
    [ -n "$(hows --since 2020-01-01T02:00+05:30)" ]
    rowlock log --since 00:00
    rowlock log --since 23:59
    until_true eval '[ -z "$(hows --since 0.001s)" ]'
}

@test "WAITED is rounded to the nearest second, from a second on" {
    level all
    rowlock run one -- true
    for waited in 999/999ms 1000/1s 1499/1s 1500/2s 1998/2s 59500/1m00s; do
        sql "UPDATE $table SET waited = ${waited%/*}"
        rowlock log >found
        grep -qE "exclusive +[^ ]+ +${waited#*/} " found || { cat found; return 1; }
    done
}

@test "mistakes are usage errors, and name the mistake" {
    run -64 rowlock log --since yesterday
    [[ $output == *"not 'yesterday'"* ]]
    run -64 rowlock log --since 2999-01-01
    [[ $output == *'in the future'* ]]
    # shellcheck disable=SC2086 # words
    for wrong in 'log --since 2020-13-01' 'log --since 2026-02-30' 'log --since 2025-02-29' \
        'log --since 2026-11-21T10:00:61Z' 'log --limit 0' 'log --waited soon' 'log one two' \
        'schema set' 'schema set history all now' 'schema set history --keep-good 5s' \
        'schema install --keep-bad 5d'; do
        runs 64 rowlock $wrong
    done
    rowlock log --since 2024-02-29
    run -64 rowlock log 'a[b'
    [[ $output == *"without ']' at position 2"* ]]
    run -64 rowlock log --svg ''
    run -64 rowlock --json log --svg x.svg
    run -64 rowlock schema set history loud
    [[ $output == *"'loud' is none of off, problems, slow and all"* ]]
    run -125 rowlock log --svg nowhere/x.svg
    [[ $output == *'nowhere/x.svg'* ]]
}

@test "old entries are pruned by vacuum, the bad ones later" {
    level all --keep-good 1m --keep-bad 1h
    rowlock run good -- true
    ends_badly bad
    older() { # MINUTES
        case $ROWLOCK_TEST_ENGINE in
        sqlite) sql "UPDATE $table SET ended = ended - $1 * 60000" ;;
        postgresql) sql "UPDATE $table SET ended = ended - interval '$1 min'" ;;
        mariadb) sql "UPDATE $table SET ended = ended - INTERVAL $1 MINUTE" ;;
        esac
    }
    older 2
    rowlock vacuum
    [ "$(hows)" = 'bad revoked' ]
    older 120
    rowlock vacuum
    [ -z "$(hows)" ]
    level slow --keep-good 24h --keep-bad 7d
}

@test "p3_a history that cannot be written prevents no release, no break and no takeover" {
    level all
    put_away history
    rowlock run one -- true
    [ -z "$(rowlock --json ls one | jq -r '.[].name')" ]
    ends_badly one
    token=$(held one note 1s)
    until_true has_expired one "$token"
    rowlock run one -- true
    token=$(held one note 1h)
    gives_up one
    rowlock release one --token "$token"
    [ -z "$(rowlock --json ls one | jq -r '.[].name')" ]
    put_back history
    rowlock run one -- true
    [ "$(hows)" = 'one released' ]
}

@test "p3_a history that is missing prevents no vacuum, which names it" {
    token=$(held one note 1s)
    until_true has_expired one "$token"
    put_away history
    run --separate-stderr -0 rowlock vacuum
    put_back history
    [[ $output == *' rows removed' ]]
    [[ $stderr == *"missing"*"table "*history*"rowlock schema install"* ]]
    [ "$(sql "SELECT count(*) FROM ${ours}lease WHERE name = 'one'")" = 0 ]
    run --separate-stderr -0 rowlock vacuum
    [ -z "$stderr" ]
}

@test "the last time label of a timeline ends within the picture" {
    [ "$ROWLOCK_TEST_ENGINE" = sqlite ] || return 0
    level all
    rowlock run one -- true
    sql "UPDATE $table SET acquired = 1700000002000, ended = 1700000052000"
    rowlock log --svg out.svg
    TZ=UTC python3 - <<'END'
import re
picture = open("out.svg").read()
labels = re.findall(
    r'<text class="muted" x="([\d.]+)" y="\d+"([^>]*)>(\d\d:\d\d:\d\d)<', picture)
assert labels[-1][2] == "22:14:10", labels
for x, anchor, text in labels:
    assert float(x) + 7 * len(text) < 1000 or "end" in anchor, (x, text)
END
}

@test "the timeline is a picture: well-formed, and what others wrote is escaped" {
    level all
    evil='<script>alert("1")</script>&'
    held "$evil" "note $evil" 1h >/dev/null
    rowlock break --now "$evil"
    rowlock run plain -- true
    held other $'\xef\xbf\xbe \xef\xbf\xbf' 1h >/dev/null # characters that XML does not allow
    gives_up other
    rowlock break --now other
    rowlock job good --every 1w -- true || true
    rowlock log --svg out.svg
    python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("out.svg")'
    if grep -q '<script' out.svg; then return 1; fi
    grep -q '&lt;script&gt;' out.svg
    grep -q 'class="wait gave"' out.svg
    grep -q 'class="lost"' out.svg
    grep -q 'class="held"' out.svg
    grep -q 'prefers-color-scheme:dark' out.svg
    rowlock log --svg - | cmp - out.svg
}

@test "a table for people: times, holder, how" {
    ends_badly one
    rowlock log >table
    head -n 1 table | grep -qE '^ENDED +NAME +MODE +HELD +WAITED +WHO +HOW +NOTE$'
    grep -qE '^[0-9:]+ +one +exclusive +[0-9.]+m?s +- +[^ ]+ hold +broken by [^ ]+ +lost work$' \
        table
}

# The wait is longer than the interval in which one beneath an ancestor's lock looks at the holders.
@test "a wait beneath a lock of an ancestor is one wait, with one entry for its whole time" {
    rowlock acquire --limit 2 --ttl 1h seats
    runs 75 rowlock run --limit 2 seats -- "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run -w 13s \
        --limit 2 seats -- touch ran
    [ ! -e ran ]
    entries seats | tee all
    [ "$(grep -c '"gave up"' all)" = 1 ]
    grep '"gave up"' all | jq -e '.waited_ms >= 10500'
}
