#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# exclusive, shared, their tries, unlock and vacuum, as psql and every driver may call them.
# Runs on: postgresql
# Quick: first
# Rest: postgresql

load lib

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    db "SELECT rowlock.prepare(n) FROM unnest('{x,7,a,b}'::text[]) n"
}
teardown() {
    close_sessions
    end_sessions
}

is_locked() { # NAME: as seen by another session
    [ "$(db "SELECT rowlock.try_exclusive('$1')")" = f ]
}

# Drivers send a parameter without a type (libpq, psycopg, node), as varchar (JDBC), or as a number.
@test "a name or a number, literal or parameter of any driver's type: no call is ambiguous" {
    shared=exclusive # if the technique has no shared locks
    [ "$ROWLOCK_TEST_TECHNIQUE" = insert ] || shared=shared
    calls=("exclusive('7')" "exclusive(7)" "exclusive(7::bigint)" "exclusive(7::smallint)"
        "exclusive('7', NULL)" "exclusive(7, 0)" "exclusive('7', 0::bigint)" \
            "exclusive('7'::varchar)"
        "$shared('7')" "$shared(7)" "$shared(7, 0)"
        "try_exclusive('7')" "try_exclusive(7)" "try_exclusive(7, '1 s')" \
            "try_exclusive('7', interval '1 s')"
        "try_$shared('7')" "try_$shared(7)" "try_$shared(7, '1 s')")
    types=(unknown text varchar integer bigint smallint)
    locked="SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'
            AND (classid::bigint << 32 | objid::bigint) = rowlock.key('7')"
    statements=()
    for call in "${calls[@]}"; do
        statements+=("BEGIN" "DO \$\$ BEGIN PERFORM rowlock.$call; END \$\$" "$locked" "ROLLBACK")
    done
    for type in "${types[@]}"; do
        statements+=("BEGIN" \
            "PREPARE p_$type($type) AS SELECT FROM (SELECT rowlock.exclusive(\$1)) l" \
            "EXECUTE p_$type(7)" "$locked" "ROLLBACK")
    done
    run -0 db "${statements[@]}"
    [ "$(grep -c '^1$' <<<"$output")" = $((${#calls[@]} + ${#types[@]})) ]
    run ! grep -vE '^1?$' <<<"$output"
}

@test "null, empty and too long names are refused, and so is every call above READ COMMITTED" {
    {
        for name in "NULL" "''" "repeat('x', 256)" "NULL::bigint"; do
            for call in exclusive try_exclusive unlock prepare; do
                echo "RL003 | SELECT rowlock.$call($name)"
            done
        done
        echo "RL001 READ COMMITTED | BEGIN ISOLATION LEVEL REPEATABLE READ; \
            SELECT rowlock.exclusive(7)"
    } >refused
    each_fails <refused
}

@test "statement_timeout and lock_timeout end a wait for a transaction, or for a named lease" {
    db "SELECT rowlock.prepare('leased')"
    token=$(rowlock hold --for 5m --note 'ask Ann' leased)
    open_session a
    in_session a BEGIN "SELECT rowlock.exclusive('x')"
    for call in "exclusive('x')" "shared('x')" "exclusive('leased')" "shared('leased')"; do
        [[ $ROWLOCK_TEST_TECHNIQUE/$call != insert/shared* ]] || continue
        fails_with 57014 "SET statement_timeout = '1s'" "SELECT rowlock.$call"
        fails_with 55P03 "SET lock_timeout = '1s'" "SET statement_timeout = '20s'" \
            "SELECT rowlock.$call"
        [[ $call != *leased* || $output == *'"leased" is held by a lease'*'ask Ann'* ]]
    done
    rowlock release leased --token "$token"
    db "SELECT rowlock.exclusive('leased')"
}

@test "a waiter for a lease gets the name when it is released, and the timeouts are unchanged" {
    token=$(rowlock hold --for 5m --note 'ask Ann' x)
    open_session a
    ask a "SET lock_timeout = '20s'" BEGIN
    ask a "SELECT rowlock.exclusive('x'), 'done'"
    until_true asleep
    run ! said a 'done$'
    rowlock release x --token "$token"
    answer a 'done$'
    is_locked x
    ask a "SHOW lock_timeout"
    answer a '^20s$'
}

@test "vacuum returns how many it removed, and keeps locked ones" {
    db "SELECT rowlock.vacuum()"
    [ "$(db "SELECT rowlock.vacuum()")" = 0 ]
    expired=$(db "SELECT rowlock.acquire('e', '1 s')")
    [ "$expired" -gt 0 ]
    until_true is_free e
    open_session a
    in_session a BEGIN "SELECT rowlock.exclusive('exclusive')" "SELECT rowlock.shared('shared')"
    [ "$(db "SELECT rowlock.vacuum()")" = 1 ]
    is_locked exclusive
    in_session a COMMIT
    [ "$(db "SELECT rowlock.vacuum()")" = 0 ]
}

@test "prepare and unlock do nothing, and vacuum counts no name" {
    db "SELECT rowlock.prepare(n) FROM unnest('{once,counter:once,subject:once}'::text[]) n"
    rowlock run --tx once -- true
    db "SELECT rowlock.vacuum()"
    [ "$(db BEGIN "SELECT rowlock.exclusive('once')" "SELECT rowlock.next('once'),
        rowlock.refresh('once', '0') > 0, rowlock.vacuum()" "SELECT rowlock.unlock('once')" COMMIT |
        grep '|')" = '1|t|0' ]
}

@test "every function with side effects is VOLATILE, and none is granted by default" {
    [ "$(sql "SELECT count(*) FROM pg_proc WHERE pronamespace = 'rowlock'::regnamespace
              AND provolatile <> 'v' AND proname NOT IN ('key', 'session_key', 'hash_times',
              'cron_hash', 'cron_field', 'cron_seek', 'zone_offset', 'zone_change', 'period_of',
              'due', 'decide_job')")" = 0 ]
    [ "$(sql "SELECT count(*) FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f',
              proowner))) a
              WHERE pronamespace = 'rowlock'::regnamespace AND a.grantee = 0")" = 0 ]
    [ "$(sql "SELECT count(*) FROM pg_class WHERE relnamespace = 'rowlock'::regnamespace
              AND relkind = 'v'
              AND obj_description(oid, 'pg_class') <> ''")" = 5 ]
    definers=$(sql "SELECT proname FROM pg_proc WHERE pronamespace = 'rowlock'::regnamespace
                    AND prosecdef")
    [ "$definers" = "$([ "$ROWLOCK_TEST_TECHNIQUE" != insert ] || echo lock_object)" ]
}

# A database with that encoding does not check incoming text.
@test "h3 SQL_ASCII: bytes that are not UTF-8 are not a valid name, short or long" {
    local name=ascii_$ROWLOCK_TEST_TECHNIQUE url
    psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" -c "DROP DATABASE IF EXISTS $name" \
        -c "CREATE DATABASE $name OWNER tester ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE 'C'" \
            2>&1
    url=${ROWLOCK_TEST_URL%/*}/$name
    rowlock --db "$url" schema install --technique "$ROWLOCK_TEST_TECHNIQUE"
    for call in "exclusive(n)" "try_exclusive(n)" "acquire(n, '30 s')" "prepare(n)" "next(n)"; do
        for bad in "E'\\xff'" "repeat(E'\\xc3', 60)" "repeat(E'\\xff', 64)"; do
            echo "22021 | SELECT rowlock.$call FROM (SELECT $bad AS n) x"
        done
    done >bad
    ROWLOCK_TEST_URL=$url each_fails <bad
    psql -qXAt "$url" -c "BEGIN; SELECT rowlock.prepare(E'\\xc3\\xa9')" -c "COMMIT" \
        -c "SELECT rowlock.exclusive(E'\\xc3\\xa9')"
}

# The error's code must differ from that of a hook which needs no lease any more.
@test "p1 a name that the database's encoding lacks is refused, and no command runs" {
    local name=latin_$ROWLOCK_TEST_TECHNIQUE url
    psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" -c "DROP DATABASE IF EXISTS $name" \
        -c "CREATE DATABASE $name OWNER tester ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'" 2>&1
    url=${ROWLOCK_TEST_URL%/*}/$name
    rowlock --db "$url" schema install --technique "$ROWLOCK_TEST_TECHNIQUE"
    for options in "" "-n" "--tx" "-w 2"; do
        # shellcheck disable=SC2086
        run rowlock --db "$url" run $options $'a \xe5\x8f\x96' -- echo it runs
        echo "run $options: $status $output"
        [ "$status" -ne 0 ]
        [[ $output != *"it runs"* ]]
        [[ $output == *"the database's encoding lacks a character of it"* ]]
    done
    run rowlock --db "$url" run "caf"$'\xc3\xa9' -- echo it runs
    [ "$output" = "it runs" ]
}

# The rule of docs/sql.md, and its reason: a statement sees what was committed before it began.
@test "p2_a read in the statement that waits for the lock is old; in the next statement it is not" {
    db "CREATE TABLE counted (n integer)" "INSERT INTO counted VALUES (0)"
    open_session one
    in_session one "BEGIN" "SELECT rowlock.exclusive('x')" "UPDATE counted SET n = 1"
    open_session two
    ask two "BEGIN" "SELECT rowlock.exclusive('x'), n FROM counted"
    until_true somebody_waits
    in_session one "COMMIT"
    in_session two "SELECT 'after', n FROM counted" "COMMIT"
    close_sessions
    db "DROP TABLE counted"
    grep -qx '|0' two
    grep -qx 'after|1' two
}

frees_lease() { [ "$(db "SET lock_timeout = '100ms'" "SELECT rowlock.release($1)")" = t ]; } # TOKEN

@test "p4_ROLLBACK TO an older savepoint releases a lock and a fence; RELEASE keeps them" {
    token=$(db "SELECT rowlock.acquire('a', '1h')")
    open_session one
    in_session one "BEGIN" "SAVEPOINT s" "SELECT rowlock.fence('a', $token)" \
        "SELECT rowlock.exclusive('x')" "RELEASE s"
    is_locked x
    run ! frees_lease "$token"
    in_session one "ROLLBACK" "BEGIN" "SAVEPOINT s" "SELECT rowlock.fence('a', $token)" \
        "SELECT rowlock.exclusive('x')" "ROLLBACK TO s"
    run ! is_locked x
    frees_lease "$token"
    in_session one "SELECT 'open'" # the transaction has continued
    grep -qx open one
}

# The server ends a session at an error even if a function catches it.
@test "exit_on_error = on: a session, also one of rowlock itself, survives a busy name" {
    local database=${ROWLOCK_TEST_URL##*/}
    sql "ALTER DATABASE $database SET exit_on_error = on"
    open_session a
    ask a BEGIN "SELECT rowlock.exclusive('x'), 'locked'"
    answer a 'locked$'
    token=$(db "SELECT rowlock.acquire('leased', '5 min')")
    open_session b
    ask b "SHOW exit_on_error" BEGIN "SELECT rowlock.try_exclusive('x'), 'first'" \
        "SELECT rowlock.try_exclusive('x', '20 ms'), 'second'" \
        "SELECT rowlock.try_exclusive('leased'), 'third'" COMMIT \
        "SELECT rowlock.acquire('x', '5 min') IS NULL, 'fourth'" \
        "SELECT rowlock.acquire('leased', '5 min') IS NULL, 'fifth'" \
        "SHOW exit_on_error" "SELECT 'lives'"
    answer b '^lives$'
    [ "$(cat b)" = $'on\nf|first\nf|second\nf|third\nt|fourth\nt|fifth\non\nlives' ] || {
        cat b
        return 1
    }
    run -75 rowlock run --tx -n x -- true
    run -75 rowlock run --tx -w 5 x -- true
    run -75 rowlock run -n leased -- true
    sql "ALTER DATABASE $database RESET exit_on_error"
}
