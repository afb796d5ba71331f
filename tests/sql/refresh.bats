#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# rowlock.refresh and rowlock_refresh: stale data is refreshed once, in the caller's transaction.
# They call rowlock.exclusive, and what conformance/refresh calls on every technique. The words of
# each server come first.
# Runs on: postgresql mariadb
# Quick: first
# Rest: postgresql/native mariadb

if [ "$ROWLOCK_TEST_ENGINE" = postgresql ]; then
    load lib
    begin=BEGIN frozen="BEGIN ISOLATION LEVEL REPEATABLE READ"
    hour="'1 h'" endless="'infinity'" now="'0'" past="'-1 s'" moment="'0.3 s'"
    seconds="'5 s'" outlast="SELECT pg_sleep(5.1)"
    continues="SELECT 1" limit="SET LOCAL lock_timeout = '1 s'" timed_out=55P03
    subject=rowlock.subject subjects=rowlock.subjects other_ends=()
    prepare() { db "SELECT rowlock.prepare('$1')"; }
    lock() { echo "SELECT rowlock.exclusive('$1')"; }
    refresh() { # [MAX_AGE [WAIT [HOST PID PROGRAM]]]
        echo "SELECT 'version ' || coalesce(rowlock.refresh(${named:-'$NAME'}, ${1:-NULL}," \
            "${2:-NULL}, ${3:-NULL}, ${4:-NULL}, ${5:-NULL})::text, 'none')"
    }
    refreshed() { echo "SELECT rowlock.refreshed(${named:-'$NAME'}, $1)"; }
    transact() {
        local rows
        rows=$(db "SET statement_timeout = '40 s'" "$begin" "$@") && sed '/^$/d' <<<"$rows"
    }
    is_refused() { fails_with "$@"; } # SQLSTATE STATEMENT...
    after_release() { refreshed 2; }
    names_it() { :; } # its errors do not
    is_held() { :; }
    session() { open_session "$1"; }
else
    load mariadb
    begin="$committed_level; START TRANSACTION" frozen="START TRANSACTION"
    hour=3600000 endless=9223372036854775807 now=0 past=-1 moment=300
    seconds=5000 outlast="DO SLEEP(5.1)"
    continues="SELECT @@in_transaction" limit="SET innodb_lock_wait_timeout = 1" timed_out=HY000
    subject=rowlock_subject subjects=rowlock_subjects
    other_ends=("SAVEPOINT s; ROLLBACK TO s; ROLLBACK" "CREATE TABLE ddl (n INT); DROP TABLE ddl")
    prepare() { sql "CALL rowlock_prepare('$1')"; }
    lock() { echo "CALL rowlock_exclusive('$1'); SELECT ''"; }
    refresh() {
        echo "SET @v = -1; CALL rowlock_refresh(${named:-'$NAME'}, ${1:-NULL}, ${2:-NULL}," \
            "${3:-NULL}, ${4:-NULL}, ${5:-NULL}, @v);" \
            "SELECT CONCAT('version ', COALESCE(@v, 'none'))"
    }
    refreshed() { echo "CALL rowlock_refreshed(${named:-'$NAME'}, $1)"; }
    after_release() { :; } # which removes the savepoint of the refresh too
    names_it() { [[ $output == *"'subject:$NAME'"* ]]; }
    is_held() { [[ $output == "ERROR 1205 (HY000)"*"'subject:$NAME' is held by"* ]]; }
    all() { printf '%s; ' "$@"; }
    transact() { say "$(all "$begin" "$@")"; }
    is_refused() { run say "$(all "${@:2}")"; [[ $output == *"ERROR "*" ($1)"* ]]; }
    session() { open_session "$1" "$([ "$1" = a ] && echo 4 || echo 5)"; }
    ask() { { all "${@:2}"; echo; } >&"$([ "$1" = a ] && echo 4 || echo 5)"; }
    answer() { until_true said "$@"; }
fi

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    NAME="rates $BATS_TEST_NUMBER"
    prepare "subject:$NAME"
}
teardown() {
    close_sessions
    end_sessions
}

status() { sql "SELECT concat(status, ' ', CASE WHEN made THEN 1 ELSE 0 END) FROM $subjects
                WHERE name = '$NAME'"; }
refresh_once() { transact "$(refresh)" "$(refreshed 1)" COMMIT; }

@test "stale data is refreshed, and then fresh until its age, an expiry, or a clock set back" {
    [ "$(transact "$(refresh "$hour")" "$(refreshed 1)" COMMIT)" = "version 1" ]
    [ "$(status)" = "COMPLETE 1" ]
    for age in "$hour" NULL; do [ "$(transact "$(refresh "$age")" COMMIT)" = "version none" ]; done
    [ "$(transact "$(refresh "$endless")" COMMIT)" = "version none" ] || # before PostgreSQL 17
        [ "$(transact "$(refresh "'200000 years'")" COMMIT)" = "version none" ]
    for age in "$now" "$past"; do
        [ "$(transact "$(refresh "$age")" ROLLBACK)" = "version 2" ]
    done
    rowlock expire "$NAME"
    [ "$(transact "$(refresh)" "$(refreshed 2)" COMMIT)" = "version 2" ]
    sql "UPDATE $subject SET updated = updated + 7200000 WHERE name = '$NAME'"
    [ "$(transact "$(refresh "$hour")" ROLLBACK)" = "version 3" ]
    [ "$(transact "$(refresh)" COMMIT)" = "version none" ]
}

@test "a caller that finds fresh data waits for no lock" {
    refresh_once
    session a
    ask a "$begin" "$(lock "subject:$NAME")" "SELECT 'locked'"
    answer a locked
    [ "$(transact "$(refresh "$hour")" COMMIT)" = "version none" ]
}

@test "of two callers at once one refreshes; the other waits, and finds the data fresh" {
    session a
    session b
    ask a "$begin" "$(refresh "$hour")"
    answer a 'version 1'
    ask b "$begin" "$(refresh "$hour")"
    until_true somebody_waits
    ask a "$(refreshed 1)" COMMIT
    answer b 'version none'
}

@test "a caller that waits longer than its max_age finds the data fresh" {
    session a
    session b
    ask a "$begin" "$(refresh "$hour")"
    answer a 'version 1'
    ask b "$begin" "$(refresh "$seconds")"
    until_true somebody_waits
    ask a "$outlast" "$(refreshed 1)" COMMIT
    answer b 'version none'
}

@test "busy: 0 within the wait, and the transaction continues; an error without one" {
    session a
    ask a "$begin" "$(refresh)"
    answer a 'version 1'
    for wait in "$now" "$moment"; do
        [ "$(transact "$(refresh NULL "$wait")" "$continues" COMMIT)" = $'version 0\n1' ]
    done
    is_refused "$timed_out" "$begin" "$limit" "$(refresh)"
    is_held
    is_refused RL005 "$begin" "$(refresh NULL "$now")" "$(refreshed 0)"
}

@test "only the transaction that began a refresh completes it, and once" {
    is_refused RL005 "$begin" "$(refresh)" COMMIT "$begin" "$(refreshed 1)"
    [[ $output == *"this transaction does not refresh "?"$NAME"* ]]
    [ "$(status)" = "ERROR 0" ] # committed without refreshed
    for before in "$(refresh); ROLLBACK; $begin" "SAVEPOINT s; $(refresh); ROLLBACK TO s" \
        "$(refresh); $(refreshed 2)" "$(refresh); COMMIT" "${other_ends[@]/#/$(refresh); }"; do
        is_refused RL005 "$begin" "$before" "$(refreshed 2)"
        [[ $output == *"this transaction does not refresh "?"$NAME"* ]]
        sql "UPDATE $subject SET version = 1 WHERE name = '$NAME'"
    done
    is_refused RL005 "$begin" "$(refreshed NULL)"
    is_refused RL005 "$begin" "$(named=NULL refreshed 1)"
    [ "$(transact "SAVEPOINT s" "$(refresh)" "RELEASE SAVEPOINT s" "$(after_release)" COMMIT)" = \
        "version 2" ]
}

@test "one after the other in one transaction: two subjects are refreshed" {
    prepare subject:bonds
    [ "$(transact "$(refresh)" "$(refreshed 1)" \
        "$(NAME=bonds refresh)" "$(NAME=bonds refreshed 1)" COMMIT)" = $'version 1\nversion 1' ]
    [ "$(status)" = "COMPLETE 1" ]
    [ "$(NAME=bonds status)" = "COMPLETE 1" ]
}

@test "who refreshes is shown: the names that are given, or what the server knows" {
    shown="SELECT concat_ws('/', host, pid, program) FROM $subjects WHERE name = '$NAME'"
    transact "$(refresh NULL NULL "'web3'" 7 "'loader'")" "$(refreshed 1)" COMMIT
    [ "$(sql "$shown")" = web3/7/loader ]
    PGAPPNAME='by hand' transact "$(refresh "$now")" "$(refreshed 2)" COMMIT
    [[ $(sql "$shown") == */"by hand" || $(sql "$shown") == *"/session "*" of root" ]]
    [ "$ROWLOCK_TEST_ENGINE" != postgresql ] ||
        is_refused 22001 "$begin" "$(refresh NULL NULL NULL NULL "repeat('x', 256)")"
}

@test "names, levels and sessions without a transaction are refused, also if the data is fresh" {
    refresh_once
    for named in NULL "''" "repeat('x', 248)"; do is_refused RL003 "$begin" "$(refresh)"; done
    [ "$ROWLOCK_TEST_TECHNIQUE" != row ] ||
        is_refused RL008 "$begin" "$(named="'new'" refresh)"
    named=
    is_refused RL001 "$frozen" "$(refresh "$hour")"
    names_it
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] ||
        is_refused RL006 "$committed_level" "$(refresh "$hour")"
    names_it
}
