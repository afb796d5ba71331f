#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Hostile operators in the schema public, where every role may create objects, as before PostgreSQL
# 15.
# Runs on: postgresql
# Quick: first
# Rest: postgresql

# shellcheck disable=SC2154
load lib
load ../command/roles

setup_file() {
    psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" -f "$BATS_TEST_DIRNAME/operators.sql"
    install_technique
}

@test "the trap works: an exact operator of public wins over one of the catalog that needs a cast" {
    fails_with P0001 "SELECT 1::bigint * interval '1 s'"
}

@test "no public function uses an operator of public" {
    db "SELECT rowlock.prepare('x')" "SELECT rowlock.prepare('counter:c')" \
        "SELECT rowlock.prepare(7)" \
        BEGIN "SELECT rowlock.exclusive('x')" "SELECT rowlock.try_exclusive('x', '1 s')" COMMIT \
        BEGIN "SELECT rowlock.exclusive(7)" "SELECT rowlock.unlock(7)" COMMIT \
        "SELECT rowlock.next('c')" "SELECT rowlock.next('c', 3)" \
        BEGIN "SELECT rowlock.shared('x')" "SELECT rowlock.try_shared('x', '1 s')" COMMIT
    token=$(db "SELECT rowlock.acquire('x', '5 min')")
    [ -z "$(db "SELECT rowlock.acquire('x', '5 min')")" ]
    views=()
    for view in holders waiters names jobs subjects; do views+=("SELECT * FROM rowlock.$view"); done
    db "SELECT rowlock.renew($token, '5 min')" BEGIN "SELECT rowlock.fence('x', $token)" \
        "SELECT rowlock.exclusive('x', $token)" COMMIT "${views[@]}"
    each_fails <<'TEXT'
55P03 | BEGIN; SET LOCAL lock_timeout = '1s'; SELECT rowlock.exclusive('x')
22023 | SELECT rowlock.acquire('y', '0 s')
TEXT
    for schedule in 'every 1h30m' 'H H * * *' '*/5 2-4 * jan mon' '@daily'; do
        db "SELECT rowlock.claim('$schedule', '$schedule', 'an owner of sixteen bytes',
                                 zone => 'Europe/Berlin')"
    done
    db "SELECT rowlock.finish(token, 'failed', repeat('é', 3000)) FROM rowlock.run"
    db "SELECT rowlock.release($token)" "SELECT rowlock.acquire('x', '1 s')" \
        "SELECT rowlock.acquire('p', '1 s', 'permit', 2)"
    until_true db "SELECT rowlock.acquire('x', '5 min')"
    db "SELECT rowlock.vacuum()"
}

@test "nor does the command" {
    rowlock run --tx a -- true
    rowlock run --limit 2 permits -- true
    token=$(rowlock acquire --ttl 5m b)
    run -75 rowlock run -w 2 b -- true
    [[ $output == *"'b' is held by"* ]]
    run -75 rowlock run -n --tx b -- true
    start_waiter b
    rowlock ls
    rowlock ls b
    rowlock renew b --token "$token" --ttl 5m
    rowlock break b
    rowlock release b --token "$token" || true
    wait "$started"
    rowlock job j --every 50w -- true
    rowlock jobs
    rowlock jobs j
    rowlock refresh s --max-age 1h -- true
    rowlock subjects
    rowlock expire s
    rowlock next c
    rowlock vacuum
    db "SELECT rowlock.request('r', '1 min', 'the owner called a')" \
        "SELECT number FROM rowlock.enqueue('{s}', '{exclusive}', '{NULL}', '{1}', 'silent', 0,
                                             600000, 'h', 1, 'c', NULL)"
    # behind a lease, and behind a silent waiter, which a roll call removes
    db "SELECT rowlock.request('r', '1 min', 'the owner called br', '2 s')"
    granted() {
        [ "$(db "SELECT token > 0 FROM rowlock.request('s', '1 min', 'the owner called bs',
                                                       '2 s')")" = t ]
    }
    until_true granted
    db "SELECT rowlock.cancel('r', 'the owner called a')" \
        "SELECT token FROM rowlock.request('r', '1 min', 'the owner called br', '2 s')"
}

@test "nor do GRANTs and uninstall" {
    application=operators_${ROWLOCK_TEST_URL##*_}
    sql "CREATE ROLE $application"
    print_grants "$application" | paste_in
    sql "DROP OWNED BY $application; DROP ROLE $application"
    rowlock schema uninstall --force
}
