#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Two names that have the same token at different times, as after a clock that was set back: a call
# with the token and the name of the former lease leaves the other name alone.
# Runs on: mariadb/row
# Quick: first

load mariadb

owner='the owner of both'
setup() { base=$((4000000000000000 + 1000 * BATS_TEST_NUMBER)); } # far ahead of the clock

# Ends with token: that of a former lease of the name $1, and of the present one of the name $2.
repeat_token() { # FORMER PRESENT
    token=$base
    for name in "$@"; do
        sql "CALL rowlock_prepare('$name')"
        sql "UPDATE rowlock_name SET least = $token, many = 0 WHERE name = '$name'"
    done
    token=$((base + 2))
    [ "$(granted "$1")" = "$token" ]
    sql "CALL rowlock_release_lease($token, '$1', '$owner')"
    [ "$(granted "$1")" = $((token + 2)) ]
    sql "CALL rowlock_release_lease($((token + 2)), '$1', '$owner')"
    [ "$(granted "$2")" = "$token" ]
}
granted() { # NAME: its token
    sql "CALL rowlock_grant(CONCAT(HEX('$1'), ':x:0:0'), '$owner', 600000, 0, 0, 0, NULL, NULL,
                            NULL, NULL)" | cut -f3
}
is_held() { # NAME
    [ "$(sql "SELECT token, stop FROM rowlock_held WHERE name = '$1'")" = "$token"$'\t0' ]
}

@test "p1 a late release of a token that another name has now ends nothing" {
    repeat_token former present
    sql "CALL rowlock_release_lease($token, 'former', '$owner')"
    is_held present
    [ "$(sql "CALL rowlock_renew_lease($token, 600000, 'former', '$owner')")" = 8 ]
    sql "CALL rowlock_break('former', $token, 1)"
    is_held present
    sql "CALL rowlock_release_lease($token, 'present', '$owner')"
    is_free present
}

# Each procedure itself, as after another session has taken the token between its look and its
# change.
@test "p1 the parts of an end and a renewal change no lease of another name" {
    repeat_token former present
    for call in "end($token, 'former', 0, @n)" "set_stop($token, 'former', 0)" \
        "set_end($token, 'former', '2030-01-01', 0, @n)" "drop($token, 'former')"; do
        before=$(sql "SELECT token, expires, stop FROM rowlock_alive")
        sql "CALL rowlock_$call"
        [ "$(sql "SELECT token, expires, stop FROM rowlock_alive")" = "$before" ]
    done
    is_held present
    rowlock break --now present
}

@test "p1 the late end of a run or a refresh leaves a lease of another name alone" {
    repeat_token job:former other
    sql "INSERT INTO rowlock_run (token, job, node, pid, due, repeats, started, taken_until)
         VALUES ($token, 'former', 'a node', 1, 0, 0, 0, 0)"
    [ "$(sql "CALL rowlock_finish_job($token, 'done', 0, NULL)" | cut -f1)" = 8 ]
    is_held other
    [ "$(sql "CALL rowlock_subject_finish('former', $token, 0, NULL, 0)" | cut -f1)" = 8 ]
    is_held other
    rowlock break --now other
    [ "$(sql "SELECT outcome FROM rowlock_run WHERE token = $token")" = late ]
}

@test "a run gets no token of another run" {
    sql "CALL rowlock_prepare('job:later')"
    sql "UPDATE rowlock_name SET least = $base, many = 0 WHERE name = 'job:later'"
    sql "INSERT INTO rowlock_run (token, job, node, pid, due, repeats, started, taken_until)
         VALUES ($((base + 2)), 'former', 'a node', 1, 0, 0, 0, 0)"
    rowlock job later --every 1h -- true
    [ "$(sql "SELECT token, outcome FROM rowlock_run WHERE job = 'later'")" = \
        "$((base + 4))"$'\tdone' ]
}
