#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Leases through MariaDB's procedures, from the mariadb client, against each other and the command.
# Runs on: mariadb
# Quick: first

load mariadb

setup_file() { install_technique; }
setup() { cd "$BATS_TEST_TMPDIR" || return 1; }
teardown() { close_sessions; }

acquire() { # NAME [MODE [LIMIT]]: prints its token, or NULL
    say "CALL rowlock_acquire('$1', 600000, '${2:-exclusive}', ${3:-NULL}, @token); SELECT @token"
}

@test "rowlock_acquire returns a token, which the command accepts; rowlock_release ends it once" {
    token=$(acquire one)
    [ "$token" -gt 0 ]
    rowlock check one --token "$token"
    run rowlock run -n one -- true
    [ "$status" = 75 ]
    run say "CALL rowlock_release($token, @a); CALL rowlock_release($token, @b);
             CALL rowlock_release(NULL, @c);
             SELECT @a, @b, @c, @@in_transaction"
    [ "$output" = $'1\t0\t0\t0' ]
    rowlock run -n one -- true
}

@test "p1 for every kind of holder rowlock_acquire returns NULL, and no old value remains" {
    token=$(acquire both)
    run say "SET @token = 1; CALL rowlock_acquire('both', 600000, 'exclusive', NULL, @token);
             SELECT @token"
    [ "$output" = NULL ]
    [ "$(acquire both shared)" = NULL ]
    sql "CALL rowlock_release($token, @x)"
    hold both
    [ "$(acquire both)" = NULL ]
    let_go
    [ "$(acquire both)" -gt "$token" ]
}

@test "p1 a lease is found although its token is below the least_token of its name" {
    for names in back "back front"; do # one name and several are granted by different procedures
        rowlock run back front -- true
        sql "UPDATE rowlock_name SET least_token = 9000000000000000000"
        # shellcheck disable=SC2086
        token=$(rowlock acquire -n --ttl 10m $names)
        for words in "run -n" "run --tx -n" "run -n --shared"; do
            # shellcheck disable=SC2086
            run rowlock $words back -- true
            echo "$names: $words: $status: $output"
            [ "$status" = 75 ]
        done
        [ "$(acquire back)" = NULL ]
        rowlock release back --token "$token"
    done
}

@test "p8 SET timestamp neither ends another client's lease, nor creates one that has expired" {
    token=$(acquire stamped)
    for instant in 1 2147483000; do
        run say "SET timestamp = $instant; CALL rowlock_acquire('stamped', 600000, 'exclusive',
                 NULL, @token);
                 SELECT @token, ABS(UNIX_TIMESTAMP() - $instant) > 86400"
        [ "$output" = $'NULL\t1' ]
        name="stamped $instant"
        mine=$(say "SET timestamp = $instant; CALL rowlock_acquire('$name', 600000, 'exclusive',
                    NULL, @token);
                    SET timestamp = $instant; CALL rowlock_renew(@token, 600000); SELECT @token")
        [ "$(acquire "$name")" = NULL ]
        run say "SELECT expires < utc_timestamp() + INTERVAL 20 MINUTE FROM rowlock_holders
                 WHERE name = '$name'"
        [ "$output" = 1 ]
        rowlock release "$name" --token "$mine"
    done
    rowlock release stamped --token "$token"
}

@test "p8 SET timestamp makes no wait endless; a lease is waited for while it lives" {
    sql "CALL rowlock_prepare('stamped'); CALL rowlock_prepare('other')"
    token=$(acquire stamped)
    for instant in 1 2147483000; do
        run say "SET innodb_lock_wait_timeout = 1; SET timestamp = $instant;
                 CALL rowlock_begin_exclusive('stamped')"
        [[ $output == "ERROR 1205 (HY000)"*"'stamped' is held by a lease"* ]]
        run say "SET innodb_lock_wait_timeout = 1; CALL rowlock_begin_exclusive('other');
                 SET timestamp = $instant;
                 CALL rowlock_exclusive('stamped'); SET timestamp = $instant;
                 CALL rowlock_try_exclusive('stamped', 1000, @got); SELECT @got; ROLLBACK"
        [[ ${lines[0]} == "ERROR 1205 (HY000)"*"'stamped' is held by a lease"* ]]
        [[ ${lines[1]} == [02] ]]
    done
    rowlock release stamped --token "$token"
}

@test "p1 shared leases go together, permits up to their limit" {
    one=$(acquire read shared)
    two=$(acquire read shared)
    [ "$one" -gt 0 ] && [ "$two" -gt "$one" ]
    [ "$(acquire read)" = NULL ]
    one=$(acquire licence permit 2)
    two=$(acquire licence permit 2)
    [ "$one" -gt 0 ] && [ "$two" -gt "$one" ]
    [ "$(acquire licence permit 2)" = NULL ]
    run say "CALL rowlock_acquire('licence', 600000, 'permit', 3, @t); SELECT @t"
    [[ ${lines[0]} == \
        "ERROR 1644 (RL003)"*"'licence': it is held with limit 2, but limit 3 was requested" ]]
    sql "CALL rowlock_release($one, @x)"
    [ "$(acquire licence permit 2)" -gt "$two" ]
}

@test "p1 a lease from SQL excludes transactions, and one from the command excludes acquirers" {
    token=$(acquire ground)
    run say "SET innodb_lock_wait_timeout = 1; CALL rowlock_begin_exclusive('ground')"
    [[ $output == "ERROR 1205 (HY000)"*"'ground' is held by a lease on "* ]]
    sql "CALL rowlock_release($token, @x)"
    token=$(rowlock hold --for 10m --note test ground)
    [ "$(acquire ground)" = NULL ]
    rowlock release ground --token "$token"
}

@test "a waiter of the command gets a lease that SQL releases" {
    token=$(acquire waited)
    start "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run -w 60s waited -- touch ran
    until_true is_waited_for waited
    [ "$(acquire waited)" = NULL ]
    [ ! -e ran ]
    sql "CALL rowlock_release($token, @x)"
    until_true is_there ran
}

@test "bad arguments are refused before anything is done" {
    refused() { # ARGUMENTS TEXT
        run say "CALL rowlock_acquire($1, @t); SELECT @t"
        [[ ${lines[0]} == "ERROR 1644 (RL003)"*"rowlock: "*"$2"* ]]
    }
    refused "'bad', 999, 'exclusive', NULL" "ttl_ms must be between 1000"
    refused "'bad', NULL, 'exclusive', NULL" "ttl_ms must be between 1000"
    refused "'bad', 60000, 'mine', NULL" "exclusive, shared or permit"
    refused "'bad', 60000, NULL, NULL" "exclusive, shared or permit"
    refused "'bad', 60000, 'permit', NULL" "how many permits the name has"
    refused "'bad', 60000, 'permit', 0" "how many permits the name has"
    refused "'bad', 60000, 'shared', 3" "limit_ requires mode permit"
    [ "$(sql "SELECT count(*) FROM rowlock_names WHERE name = 'bad'")" = 0 ]
}

@test "inside an open transaction acquire, renew and release refuse, and leave it as it was" {
    token=$(acquire mine)
    run say "START TRANSACTION; CALL rowlock_acquire('other', 60000, 'exclusive', NULL, @t);
             CALL rowlock_renew($token, 60000); CALL rowlock_release($token, @x);
             SELECT @@in_transaction; ROLLBACK"
    for n in 0 1 2; do
        [[ ${lines[$n]} == "ERROR 1644 (RL007)"*"one is open: COMMIT or ROLLBACK first" ]]
    done
    [ "${lines[3]}" = 1 ]
    rowlock check mine --token "$token"
}

@test "without autocommit a lease is still committed, and no transaction is left open" {
    run say "SET autocommit = 0; CALL rowlock_acquire('off', 600000, 'exclusive', NULL, @t);
             SELECT @@in_transaction; SELECT @t"
    [ "${lines[0]}" = 0 ]
    rowlock check off --token "${lines[1]}"
}

@test "rowlock_renew lengthens, never shortens, and fails if the lease is lost or broken" {
    token=$(acquire kept)
    before=$(sql "SELECT expires FROM rowlock_holders WHERE name = 'kept'")
    run say "CALL rowlock_renew($token, 1000)"
    [ -z "$output" ]
    [ "$(sql "SELECT expires = '$before' FROM rowlock_holders WHERE name = 'kept'")" = 1 ]
    run say "CALL rowlock_renew($token, 6000000)"
    [ -z "$output" ]
    [ "$(sql "SELECT expires > '$before' + INTERVAL 1 HOUR FROM rowlock_holders
              WHERE name = 'kept'")" = 1 ]
    rowlock break kept
    run say "CALL rowlock_renew($token, 60000)"
    [[ $output == \
        "ERROR 1644 (RL005)"*"the lease $token was broken: stop the work done under it"* ]]
    sql "CALL rowlock_release($token, @x)"
    for lost in "$token" 1 NULL; do
        run say "CALL rowlock_renew($lost, 60000)"
        [[ $output == \
            "ERROR 1644 (RL005)"*"the lease $lost has expired, or was broken or released"* ]]
    done
    run say "CALL rowlock_renew($token, 5)"
    [[ $output == "ERROR 1644 (RL003)"* ]]
}

@test "p6 the fence keeps the lease until the transaction ends, and fails if it is lost" {
    token=$(acquire fenced)
    open_session a 4
    open_session b 5
    echo "START TRANSACTION; CALL rowlock_fence('fenced', $token); SELECT 'fenced';" >&4
    until_true said a fenced
    echo "CALL rowlock_release($token, @x); SELECT 'released', @x;" >&5
    until_true waits_for_a_row b
    echo "COMMIT; SELECT 'over';" >&4
    until_true said b $'released\t1'
    echo "START TRANSACTION; CALL rowlock_fence('fenced', $token);
          SELECT 'after', @@in_transaction; ROLLBACK;" >&4
    until_true said a $'after\t1'
    grep "^ERROR 1644 (RL005).*'fenced' is not, or no longer, leased to this token: roll back" a
    token=$(acquire other)
    run say "START TRANSACTION; CALL rowlock_fence('fenced', $token)"
    [[ $output == "ERROR 1644 (RL005)"* ]]
    run say "START TRANSACTION READ ONLY; CALL rowlock_fence('other', $token)"
    [[ $output == "ERROR 1792 (25006)"*"'other' cannot be fenced in a read-only transaction"* ]]
}

@test "no public procedure returns a result set" {
    sql "CALL rowlock_prepare('silent'); CALL rowlock_prepare('counter:silent')"
    run say "CALL rowlock_prepare('silent'); CALL rowlock_acquire('leased', 60000, 'exclusive',
             NULL, @t);
             CALL rowlock_renew(@t, 60000);
             CALL rowlock_begin_exclusive('silent'); CALL rowlock_exclusive('silent');
             CALL rowlock_try_exclusive('silent', 0, @x); CALL rowlock_next('silent', @n);
             CALL rowlock_fence('leased', @t);
             CALL rowlock_unlock('silent'); COMMIT;
             CALL rowlock_release(@t, @x); CALL rowlock_vacuum(@x)"
    [ -z "$output" ]
    [ "$ROWLOCK_TEST_TECHNIQUE" != row ] ||
        run say "CALL rowlock_prepare('silent'); CALL rowlock_begin_shared('silent');
                 CALL rowlock_shared('silent');
                 CALL rowlock_try_shared('silent', 0, @x); COMMIT"
    [ -z "$output" ]
}
