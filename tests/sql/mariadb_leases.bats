#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Leases through MariaDB's procedures, from the mariadb client, against each other and the command.
# leases.bats has the tests that run on PostgreSQL too.
# Runs on: mariadb
# Quick: first

load mariadb

teardown() { close_sessions; }

acquire() { # NAME [MODE [LIMIT]]: prints its token, or NULL
    say "CALL rowlock_acquire('$1', 600000, '${2:-exclusive}', ${3:-NULL}, @token); SELECT @token"
}

@test "a request refuses bad arguments, and an open transaction" {
    call() { # OWNER MODE
        echo "CALL rowlock_request_row('x', 60000, $1, 0, '$2', NULL, NULL, NULL, NULL, NULL)"
    }
    each_says <<TEXT
*RL003*random* | $(call NULL exclusive)
*RL003*random* | $(call "''" exclusive)
*RL003*random* | $(call "'fifteen letters'" exclusive)
*RL003*random* | $(call "REPEAT('x', 65)" exclusive)
*RL003* | $(call "REPEAT('x', 16)" permit)
*RL007* 1 *RL007* | START TRANSACTION; $(call "REPEAT('x', 16)" exclusive); \
    SELECT @@in_transaction; CALL rowlock_cancel('x', REPEAT('x', 16), @c)
TEXT
    is_free x
}

# A reply that was lost, and a repetition that comes before the COMMIT of the first call. The backup
# holds up COMMITs alone.
@test "p1 two calls of one shared request, while COMMITs are held up, acquire one lease" {
    ! is_mysql || skip "MySQL has no BACKUP STAGE"
    rowlock run -n stalled -- true
    open_session backup 4
    open_session first 5
    open_session second 6
    echo "BACKUP STAGE START; BACKUP STAGE BLOCK_COMMIT; SELECT 'blocked';" >&4
    until_true said backup blocked
    call="CALL rowlock_request_row('stalled', 600000, 'the owner called a', 0, 'shared', NULL, NULL,
          NULL, NULL, NULL); SELECT 'returned';"
    tell 5 "$call"
    until_true commits first
    tell 6 "$call"
    until_true waits_for_first second
    echo "BACKUP STAGE END;" >&4
    until_true said first returned
    until_true said second returned
    [[ $(say "${call%SELECT*}") =~ ^[0-9]+ ]]
    cat first second
    [ "$(sql "SELECT count(*) FROM rowlock_held WHERE name = 'stalled'")" = 1 ]
    sql "CALL rowlock_cancel('stalled', 'the owner called a', @a)"
    is_free stalled
    [ "$(sql "SELECT count(*) FROM rowlock_waiter WHERE name = 'stalled'")" = 0 ]
}
tell() { echo "${2//$'\n'/ }" >&"$1"; } # DESCRIPTOR STATEMENTS
waits_for_first() { # FILE: its session waits for the first call of its request
    [ "$(sql "SELECT count(*) FROM $processlist
              WHERE id = $(session_of "$1") AND state = 'User lock'")" = 1 ]
}
commits() { # FILE: its session waits in a COMMIT
    [ "$(sql "SELECT count(*) FROM $processlist
              WHERE id = $(session_of "$1") AND state = 'Waiting for backup lock'")" = 1 ]
}

# The name is leased. The first call is refused, and cannot write its ticket before session tickets
# ends its transaction.
start_first() { # NAME CALL_OF_SECOND
    acquire "$1"
    # the first call waits for a row for a second; a slow machine needs longer for the steps between
    for _ in 1 2 3 4 5; do
        start_both "$@"
        ! said first 'ticket [0-9]*' || return 0
        close_sessions
        rm ./*.in
    done
    return 1
}
start_both() { # NAME CALL_OF_SECOND
    open_session tickets 4
    open_session first 5
    open_session second 6
    tell 4 "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION;
            SELECT count(*) FROM rowlock_waiter FOR UPDATE; SELECT 'locked';"
    until_true said tickets locked
    tell 5 "$(request "$1")"
    until_true waits_for_a_row first
    tell 6 "$2"
    until_true waits_or_ends second
    tell 4 "ROLLBACK;"
    until_true said first 'ticket [0-9]*\|NULL\|ERROR.*'
}
waits_or_ends() { # without the session lock it waits for a row, or ends
    waits_for_first "$1" || waits_for_a_row "$1" || said "$1" 'canceled [01]'
}
request() { # NAME
    echo "CALL rowlock_request('$1', 600000, 'the owner of $1', 0, 'exclusive', NULL, NULL, NULL,
          NULL, NULL, @token, @ticket, @place, @holder, @pause);
          SELECT CONCAT('ticket ', @ticket);"
}

@test "a request that is repeated while its first call still runs returns the same ticket" {
    start_first repeated "$(request repeated)"
    until_true said second 'ticket [0-9]*'
    [ "$(grep ^ticket first)" = "$(grep ^ticket second)" ]
}

@test "a cancel waits for the ticket of a first call, and removes it" {
    start_first canceled "CALL rowlock_cancel('canceled', 'the owner of canceled', @c);
                          SELECT CONCAT('canceled ', @c);"
    until_true said second 'canceled [01]'
    said second 'canceled 1'
    [ "$(sql "SELECT count(*) FROM rowlock_waiter WHERE name = 'canceled'")" = 0 ]
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

@test "bad arguments are refused before anything is done" {
    while IFS='|' read -r text arguments; do
        echo "ERROR 30003 (RL003)*rowlock: *${text% }* | CALL rowlock_acquire($arguments, @t)"
    done >refused <<'TEXT'
ttl_ms must be between 1000 | 'bad', 999, 'exclusive', NULL
ttl_ms must be between 1000 | 'bad', NULL, 'exclusive', NULL
exclusive, shared or permit | 'bad', 60000, 'mine', NULL
exclusive, shared or permit | 'bad', 60000, NULL, NULL
how many permits the name has | 'bad', 60000, 'permit', NULL
how many permits the name has | 'bad', 60000, 'permit', 0
limit_ requires mode permit | 'bad', 60000, 'shared', 3
TEXT
    each_says <refused
    [ "$(sql "SELECT count(*) FROM rowlock_names WHERE name = 'bad'")" = 0 ]
}

@test "inside an open transaction acquire, renew and release refuse, and leave it as it was" {
    token=$(acquire mine)
    run say "START TRANSACTION; CALL rowlock_acquire('other', 60000, 'exclusive', NULL, @t);
             CALL rowlock_renew($token, 60000); CALL rowlock_release($token, @x);
             SELECT @@in_transaction; ROLLBACK"
    for n in 0 1 2; do
        [[ ${lines[$n]} == "ERROR 30007 (RL007)"*"one is open: COMMIT or ROLLBACK first" ]]
    done
    [ "${lines[3]}" = 1 ]
    rowlock check mine --token "$token"
}

@test "without autocommit a lease is still committed, and no transaction is left open" {
    run say "SET autocommit = 0; CALL rowlock_acquire('off', 600000, 'exclusive', NULL, @t);
             SELECT @t; CALL rowlock_begin_exclusive('ended'); ROLLBACK"
    [ ${#lines[@]} = 1 ]
    rowlock check off --token "${lines[0]}"
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
    grep "^ERROR 30005 (RL005).*'fenced' is not, or no longer, leased to this token: roll back" a
    token=$(acquire other)
    run say "START TRANSACTION; CALL rowlock_fence('fenced', $token)"
    [[ $output == "ERROR 30005 (RL005)"* ]]
    run say "START TRANSACTION READ ONLY; CALL rowlock_fence('other', $token)"
    [[ $output == "ERROR 1792 (25006)"*"'other' cannot be fenced in a read-only transaction"* ]]
}

@test "a fence with the token of a former lease does not delay the release of the present one" {
    former=$(acquire refenced)
    sql "CALL rowlock_release($former, @x)"
    present=$(acquire refenced)
    open_session a 4
    echo "$committed_level; START TRANSACTION;
          CALL rowlock_fence_row('refenced', $former, 30000);
          SELECT 'refused', @@in_transaction;" >&4
    until_true said a $'refused\t1'
    grep $'^8\trefenced\t0\t' a
    [ "$(say "SET innodb_lock_wait_timeout = 1; CALL rowlock_release($present, @x);
              SELECT @x")" = 1 ]
}

# By what the server reads: of 3000 other names, all of which have expired leases, none.
@test "a search for the expired leases of a name reads no other name" {
    ! is_mysql || skip "it has no SEQUENCE"
    [ "$ROWLOCK_TEST_TECHNIQUE" = row ] || return 0
    sql "INSERT INTO rowlock_name (name, token, held) SELECT CONCAT('many ', seq), 2 * seq, 1
         FROM seq_1_to_3000"
    run say "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; FLUSH STATUS;
             CALL rowlock_expired(CONCAT(HEX('many 7'), ':x:0,', HEX('many 8'), ':s:0'));
             CALL rowlock_sweep_leases(CONCAT(HEX('many 9'), ':x:0'));
             SELECT SUM(variable_value) < 500 FROM information_schema.session_status
             WHERE variable_name LIKE 'Handler_read%'"
    [ "$output" = $'14\n16\n1' ]
    [ "$(sql "SELECT held FROM rowlock_name WHERE name = 'many 9'")" = 0 ]
    sql "DELETE FROM rowlock_name WHERE name LIKE 'many %'"
}

@test "p1 a sweep that finds the lease renewed leaves it" {
    run say "CALL rowlock_acquire('renewed', 60000, 'exclusive', NULL, @t);
             CALL rowlock_sweep(@t); CALL rowlock_renew(@t, 60000);
             CALL rowlock_release(@t, @was); SELECT @was"
    [ "$output" = 1 ]
}

@test "no public procedure returns a result set, but rowlock_request_row" {
    sql "CALL rowlock_prepare('silent'); CALL rowlock_prepare('counter:silent')"
    run say "CALL rowlock_prepare('silent'); CALL rowlock_acquire('leased', 60000, 'exclusive',
             NULL, @t);
             CALL rowlock_renew(@t, 60000);
             CALL rowlock_begin_exclusive('silent'); CALL rowlock_exclusive('silent');
             CALL rowlock_try_exclusive('silent', 0, @x); CALL rowlock_next('silent', @n);
             CALL rowlock_fence('leased', @t);
             CALL rowlock_unlock('silent'); COMMIT;
             CALL rowlock_release(@t, @x); CALL rowlock_vacuum(@x);
             CALL rowlock_request('leased', 60000, 'the owner called a', 0, 'exclusive', NULL, NULL,
             NULL, NULL, NULL, @t, @n, @x, @h, @p);
             CALL rowlock_cancel('leased', 'the owner called a', @x)"
    [ -z "$output" ]
    [ "$ROWLOCK_TEST_TECHNIQUE" != row ] ||
        run say "CALL rowlock_prepare('silent'); CALL rowlock_begin_shared('silent');
                 CALL rowlock_shared('silent');
                 CALL rowlock_try_shared('silent', 0, @x); COMMIT"
    [ -z "$output" ]
}
