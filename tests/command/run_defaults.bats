#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# run without --ttl and --kill-after: the ttl is 30 s, renewed every third of it; KILL follows TERM
# after 5 s, but never after more than a quarter of the ttl. The bounds are wide: the machine may be
# slow.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: sqlite/native
# Rest: sqlite postgresql

load lib
load run.bash

setup_file() { install_technique; }

ms() { date -d "$1" +%s%3N; } # INSTANT
expires() { item a '$[0].expires'; }
expires_later_than() { [[ $(expires) > $1 ]]; }

@test "p5: a lease lasts 30 s from its last renewal, is renewed in time, and not too often" {
    start_leased a -- sh -c "$(pid_into command); until [ -e stop ]; do sleep 0.02; done"
    until_true is_there command
    rowlock --json ls a >list
    now=$(date +%s%3N) since=$(json '$[0].since' <list) first=$(json '$[0].expires' <list)
    echo "since $since, expires $first, now $now"
    [ $(($(ms "$first") - $(ms "$since"))) -ge 29990 ]
    [ $(($(ms "$first") - now)) -le 30000 ]
    until_true expires_later_than "$first"
    second=$(expires)
    until_true expires_later_than "$second"
    between=$(($(ms "$(expires)") - $(ms "$second")))
    echo "renewed after $between ms"
    [ $between -gt 2000 ]
    touch stop
    ends_with 0 "$started"
}

@test "the command has time to end after TERM" {
    start_leased a -- bash -c 'trap "touch told; until [ -e go ]; do sleep 0.02; done
        touch cleaned; exit" TERM; touch began; while :; do sleep 0.02; done'
    until_true is_there began
    rowlock break --now a # it was noticed at the next renewal
    until_true is_there told
    touch go
    ends_with 123 "$started"
    [ -e cleaned ]
}

@test "--kill-after is a quarter of the ttl at most" {
    start_leased --ttl 8s --kill-after 1h a -- sh -c \
        'touch began; until [ -e stop ]; do sleep 0.02; done; exit 3'
    until_true is_there began
    touch stop
    ends_with 3 "$started" # it was not ended an hour before the lease's end
    on_term='trap "" TERM'
    start_tree --ttl 8s --kill-after 1h a
    rowlock break --now a
    until_true tree_is_gone
    ends_with 123 "$holder"
}
