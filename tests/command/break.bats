#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# break: an operator ends another holder's lease.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: sqlite/native

load lib

@test "break refuses the next renewal, and leaves the name held until it expires or is released" {
    token=$(rowlock acquire --ttl 1m one)
    run -0 rowlock break one
    [[ $output == "1 lease of 'one' broken: no process renews it: the name is taken until "* ]]
    [[ $output == *"; to free it now: rowlock break --now 'one'" ]]
    is_held one
    run -0 rowlock break one
    [[ $output == "1 lease of 'one' broken already: no process renews it"* ]]
    run rowlock break --json one
    [ "$output" = '{"name":"one","broken":1}' ]
    run -123 rowlock renew one --token "$token"
    run -1 rowlock check one --token "$token"
}

@test "break reports how the lease ends: a holder that renews learns of it, without one it lasts" {
    start_rowlock run -s kept -- sleep 600
    until_true is_held kept
    run -0 rowlock break kept
    [ "${#lines[@]}" = 1 ]
    [[ $output == "1 lease of 'kept' broken: the holder learns of it"*"a third of its ttl"* ]]
    [[ $output != *"no process"* ]]
    rowlock hold --for 2h --note why alone
    run rowlock break alone
    [ "${#lines[@]}" = 1 ]
    [[ $output == *"no process renews it"*"rowlock break --now 'alone'" ]]
    [[ $output != *"learns of it"* ]]
    start_rowlock run -s mixed -- sleep 600
    until_true is_held mixed
    token=$(rowlock acquire -s --ttl 1h mixed)
    run rowlock break mixed
    [ "${#lines[@]}" = 1 ]
    [[ $output == \
        "2 leases of 'mixed' broken: the holder learns of it"*"; no process renews 1 of them: "* ]]
    run rowlock break mixed --token "$token"
    [[ $output == *"rowlock break --now --token $token 'mixed'" ]]
}

@test "break --now frees at once, and warns that two holders may overlap" {
    rowlock acquire --ttl 1m now
    run -0 rowlock break --now now
    [[ $output == "1 lease of 'now' ended"*overlap* ]]
    is_free now
    rowlock acquire -n --ttl 1m now
}

@test "break --now of a hold does not warn of an overlapping holder, because it has no process" {
    rowlock hold --for 2h --note why kept
    run -0 rowlock break --now kept
    [ "$output" = "1 lease of 'kept' ended at once" ]
    is_free kept
}

@test "break reports how many it broke, and can choose one" {
    one=$(rowlock acquire -s --ttl 1m many)
    two=$(rowlock acquire -s --ttl 1m many)
    three=$(rowlock acquire -s --ttl 1m many)
    run rowlock break --now many --token "$two"
    [[ $output == "1 lease "* ]]
    rowlock check many --token "$one"
    run -1 rowlock check many --token "$two"
    rowlock check many --token "$three"
    rowlock break many --token "$one"
    run rowlock break many --token "$three"
    [[ $output == "1 lease of 'many' broken: "* ]]
    four=$(rowlock acquire -s --ttl 1m many)
    run rowlock break many
    [[ $output == "3 leases of 'many' broken (2 of them before): "* ]]
    rowlock break --now many --token "$four"
    run -0 rowlock break many --json
    [ "$output" = '{"name":"many","broken":2}' ]
}

@test "break --now that is interrupted at a fence has no effect, at once or later" {
    # there a fence is a write transaction, which break does not wait for in this way
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] || return 0
    for signal in TERM INT; do
        token=$(rowlock acquire --ttl 10m "at-$signal")
        start_fence "at-$signal" "$token"
        start_rowlock break --now "at-$signal"
        breaker=$started
        until_true somebody_waits
        : >err
        kill -s "$signal" "$breaker"
        cat err
        ends_with $((128 + $(kill -l "$signal"))) "$breaker"
        [ "$(waiters)" = 0 ]
        grep -q "^rowlock: interrupted: the lease of 'at-$signal' .*is not broken" err
        end_fence
        rowlock check "at-$signal" --token "$token"
        rowlock break --now "at-$signal"
        is_free "at-$signal"
    done
}

@test "no lease held: 1, with a message" {
    run -1 rowlock break nothing
    [[ $output == *"no lease of 'nothing' is held"* ]]
    token=$(rowlock acquire --ttl 1m something)
    run -1 rowlock break something --token $((token + 1))
    [[ $output == *"'rowlock ls "* ]]
    rowlock check something --token "$token"
}

@test "the lock of a transaction is not a lease, and the message explains that" {
    # the other engines report it not at all, or not always
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    hold tx
    run -1 rowlock break tx
    [[ $output == *"by a transaction"* ]]
    let_go
}
