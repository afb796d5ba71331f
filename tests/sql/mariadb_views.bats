#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# MariaDB's views for people, and the rights of an account that has only the printed GRANTs.
# Runs on: mariadb
# Quick: first
# Rest: mariadb

load mariadb

setup_file() {
    install_technique
    # this test's own accounts, because the server is shared
    sql "DROP USER IF EXISTS app_$ROWLOCK_TEST_TECHNIQUE@localhost,
         eye_$ROWLOCK_TEST_TECHNIQUE@localhost;
         CREATE USER app_$ROWLOCK_TEST_TECHNIQUE@localhost, eye_$ROWLOCK_TEST_TECHNIQUE@localhost"
    rowlock schema print --grants --technique "$ROWLOCK_TEST_TECHNIQUE" \
        --role "app_$ROWLOCK_TEST_TECHNIQUE@localhost" >"$BATS_FILE_TMPDIR/grants"
    client <"$BATS_FILE_TMPDIR/grants"
    sed -n \
        "s/^--   \(GRANT SELECT .* TO \)monitoring;.*/\1eye_$ROWLOCK_TEST_TECHNIQUE@localhost;/p" \
        "$BATS_FILE_TMPDIR/grants" | client
}
teardown_file() {
    sql "DROP USER app_$ROWLOCK_TEST_TECHNIQUE@localhost, eye_$ROWLOCK_TEST_TECHNIQUE@localhost"
}
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    app=app_$ROWLOCK_TEST_TECHNIQUE
    eye=eye_$ROWLOCK_TEST_TECHNIQUE
    xa=xa_$ROWLOCK_TEST_TECHNIQUE
}
teardown() {
    ! sql "XA RECOVER" | grep -q "$xa" || sql "XA ROLLBACK '$xa'"
    close_sessions
}

quoted="it''s; \\\\ \"ä\""
one_row() { # STATEMENT: it returns 1
    [ "$(sql "$1")" = 1 ]
}
# rowlock ls shows transactions there, to an account that may read performance_schema.
needs_transactions_in_views() { ! is_mysql || skip "MySQL's views show leases only"; }
# InnoDB refreshes its tables of locks only after 100 ms without a reader.
until_seen() { until_true unhurried "$@"; }
unhurried() {
    sleep 0.2
    "$@"
}
# NAME: session a holds the name, and b waits for it.
let_b_wait_for() {
    open_session a 4
    open_session b 5
    echo "CALL rowlock_begin_exclusive('$1'); SELECT 'locked';" >&4
    until_true said a locked
    echo "CALL rowlock_begin_exclusive('$1'); SELECT 'locked';" >&5
    until_true waits_for_a_row b
}

@test "holders shows leases with their values, except expired ones" {
    sql "CALL rowlock_acquire('$quoted', 600000, 'exclusive', NULL, @t)"
    sql "CALL rowlock_acquire('permits', 600000, 'permit', 3, @t)"
    note=$(rowlock hold --for 10m --note 'ask Ann' shown)
    one_row "SELECT count(*) FROM rowlock_holders WHERE name = '$quoted' AND kind = 'lease'
             AND mode = 'exclusive'
             AND program LIKE 'session % of root' AND pid IS NULL AND host = @@hostname
             AND NOT broken
             AND since <= utc_timestamp(6) AND expires > since + INTERVAL 9 MINUTE"
    one_row "SELECT count(*) FROM rowlock_holders WHERE name = 'permits' AND mode = 'permit'
             AND permits = 1 AND \`limit\` = 3"
    one_row "SELECT count(*) FROM rowlock_holders WHERE name = 'shown' AND note = 'ask Ann'
             AND token = $note"
    rowlock break shown
    one_row "SELECT broken FROM rowlock_holders WHERE name = 'shown'"
    [ "$ROWLOCK_TEST_TECHNIQUE" = row ] && table=rowlock_name || table=rowlock_heartbeat
    sql "UPDATE $table SET expires = utc_timestamp(6) - INTERVAL 1 SECOND WHERE token = $note"
    [ "$(sql "SELECT count(*) FROM rowlock_holders WHERE name = 'shown'")" = 0 ]
    [ "$(sql "SELECT leased FROM rowlock_names WHERE name = 'permits'")" = 1 ]
}

@test "waiters shows the waiters for a lease, in the order of the queue" {
    token=$(say "CALL rowlock_acquire('queue', 600000, 'exclusive', NULL, @t); SELECT @t")
    start_rowlock run -w 600s queue -- true
    first() { one_row "SELECT count(*) FROM rowlock_waiters WHERE name = 'queue' AND kind = 'lease'
                       AND place = 1"; }
    until_true first
    start_rowlock run -w 600s queue -- true
    second() { one_row "SELECT count(*) FROM rowlock_waiters WHERE name = 'queue' AND place = 2
                        AND pid IS NOT NULL"; }
    until_true second
    [ "$(sql "SELECT waiting FROM rowlock_holders WHERE name = 'queue'")" = 2 ]
    sql "CALL rowlock_release($token, @x)"
}

@test "holders and waiters show the transactions where one waits for another" {
    needs_transactions_in_views
    let_b_wait_for "$quoted waited"
    there() {
        one_row "SELECT count(*) FROM rowlock_holders WHERE name = '$quoted waited'
                 AND kind = 'transaction'
                 AND mode = 'exclusive' AND pid = $(session_of a) AND program = 'root'" &&
            one_row "SELECT count(*) FROM rowlock_waiters WHERE name = '$quoted waited'
                     AND kind = 'transaction'
                     AND pid = $(session_of b)"
    }
    until_seen there
    echo 'COMMIT;' >&4
    until_true said b locked
    gone() { [ "$(sql 'SELECT count(*) FROM rowlock_transactions')" = 0 ]; }
    until_seen gone
}

@test "a fence does not hold its name, and a release that waits for it is not listed" {
    needs_transactions_in_views
    [ "$ROWLOCK_TEST_TECHNIQUE" = row ] || return 0
    sql "CALL rowlock_acquire('seen', 600000, 'exclusive', NULL, @t)"
    token=$(sql "SELECT token FROM rowlock_held WHERE name = 'seen'")
    open_session a 4
    open_session b 5
    echo "$committed_level; START TRANSACTION; CALL rowlock_fence('seen', $token);
          SELECT 'fenced';" >&4
    until_true said a fenced
    echo "CALL rowlock_release($token, @x); SELECT 'released';" >&5
    until_true waits_for_a_row b
    there() { one_row "SELECT count(*) > 0 FROM information_schema.innodb_locks"; }
    until_seen there
    [ "$(sql 'SELECT count(*) FROM rowlock_transactions')" = 0 ]
    run sql "CALL rowlock_list('seen'); CALL rowlock_holder('seen')"
    [[ $output != *transaction* ]]
    there
    echo 'COMMIT;' >&4
    until_true said b released
}

@test "a prepared transaction that holds a name is marked as prepared, without a session" {
    sql "CALL rowlock_prepare('prepared'); CALL rowlock_prepare('counter:in xa')"
    open_session a 4
    # rowlock_next writes: InnoDB lists a transaction without a session only if it wrote
    echo "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
          XA START '$xa'; CALL rowlock_exclusive('prepared'); CALL rowlock_next('in xa', @n);
          XA END '$xa'; XA PREPARE '$xa'; SELECT 'prepared';" >&4
    until_true said a prepared
    exec 4>&-
    open_session b 5
    echo "CALL rowlock_begin_exclusive('prepared'); SELECT 'locked';" >&5
    until_true waits_for_a_row b
    there() {
        one_row "SELECT count(*) FROM rowlock_holders WHERE name = 'prepared'
                 AND kind = 'prepared transaction'
                 AND mode = 'exclusive' AND pid IS NULL AND note LIKE '%XA RECOVER%'
                 AND since <= utc_timestamp()"
    }
    is_mysql || until_seen there
    # the command's queries, for an account with PROCESS
    for procedure in rowlock_list rowlock_holder; do
        [ "$ROWLOCK_TEST_TECHNIQUE" != row ] ||
            [[ $(sql "CALL $procedure('prepared')") == *"prepared transaction (see XA RECOVER)"* ]]
    done
    sql "XA ROLLBACK '$xa'"
    until_true said b locked
}

@test "transactions on an existing table are shown by the names in it" {
    needs_transactions_in_views
    [ "$ROWLOCK_TEST_TECHNIQUE" = insert ] || return 0
    other=${database}_own
    sql "DROP DATABASE IF EXISTS $other; CREATE DATABASE $other"
    database=$other
    sql_there() { as_root_of_mariadb -N -B "$other" -e "$1"; }
    sql_there "CREATE TABLE businessobjectlock (uuid VARCHAR(32) NOT NULL PRIMARY KEY,
               id VARCHAR(200) NOT NULL,
               locked_ts TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, UNIQUE KEY (id))
               ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
    "$ROWLOCK" --db "${ROWLOCK_TEST_URL}_own" schema install --technique insert \
        --table businessobjectlock
    let_b_wait_for "''it''s'' ä"
    there() { [ "$(sql_there "SELECT group_concat(pid ORDER BY waits) FROM rowlock_transactions
                              WHERE name = '''it''s'' ä'")" = \
        "$(session_of a),$(session_of b)" ]; }
    until_seen there
    close_sessions
    sql "DROP DATABASE $other"
}

@test "names shows the names that technique row keeps; jobs and subjects their states" {
    sql "CALL rowlock_prepare('plain')"
    kept=$([ "$ROWLOCK_TEST_TECHNIQUE" = row ] && echo $'1\t0' || true)
    [ "$(sql "SELECT kept, leased FROM rowlock_names WHERE name = 'plain'")" = "$kept" ]
    rowlock job nightly --every 1d -- true
    one_row "SELECT count(*) FROM rowlock_jobs WHERE name = 'nightly' AND state = 'done'
             AND \`exit\` = 0 AND due > utc_timestamp() AND finished >= started AND token IS NULL
             AND failed IS NULL"
    one_row "SELECT count(*) FROM rowlock_names WHERE name = 'job:nightly' AND NOT leased"
    rowlock refresh rates --max-age 1h -- true
    one_row "SELECT count(*) FROM rowlock_subjects WHERE name = 'rates' AND status = 'COMPLETE'
             AND \`exit\` = 0 AND made AND age_ms >= 0
             AND updated BETWEEN began AND ended AND ended <= utc_timestamp(6)"
    rowlock expire rates
    one_row "SELECT updated IS NULL FROM rowlock_subjects WHERE name = 'rates'"
}

@test "the printed grants are enough for every procedure and view" {
    run say_as "$app" "CALL rowlock_prepare('granted'); CALL rowlock_prepare('counter:granted');
        CALL rowlock_prepare('subject:granted');
        CALL rowlock_acquire('by app', 60000, 'exclusive', NULL, @t); CALL rowlock_renew(@t, 60000);
        CALL rowlock_begin_exclusive('begun'); CALL rowlock_exclusive('granted');
        CALL rowlock_try_exclusive('granted', 0, @x); CALL rowlock_next('granted', @n);
        CALL rowlock_refresh('granted', 0, 0, NULL, NULL, NULL, @v);
        CALL rowlock_refreshed('granted', @v); CALL rowlock_fence('by app', @t);
        CALL rowlock_unlock('granted'); COMMIT;
        CALL rowlock_release(@t, @x); CALL rowlock_vacuum(@x);
        CALL rowlock_acquire('by app', 1, 'exclusive', NULL, @t);
        SELECT count(*) >= 0 FROM rowlock_holders; SELECT count(*) >= 0 FROM rowlock_waiters;
        SELECT count(*) >= 0 FROM rowlock_names; SELECT count(*) >= 0 FROM rowlock_jobs;
        SELECT count(*) >= 0 FROM rowlock_subjects"
    [[ ${lines[0]} == "ERROR 30003 (RL003)"*ttl* ]] # and no statement before was denied
    [ "${#lines[@]}" = 6 ]
    [ "${lines[*]:1}" = '1 1 1 1 1' ]
    run say_as "$app" "DELETE FROM rowlock_meta"
    [[ $output == "ERROR 1142 "* ]]
}

@test "a read-only account sees every lease and locks nothing; transactions only with PROCESS" {
    sql "CALL rowlock_acquire('seen', 600000, 'exclusive', NULL, @t)"
    let_b_wait_for contended
    seen() { say_as "$eye" "SELECT name, kind FROM rowlock_holders
                            WHERE name IN ('seen', 'contended') ORDER BY 1"; }
    [ "$(seen)" = $'seen\tlease' ]
    run say_as "$eye" "SELECT count(*) >= 0 FROM rowlock_waiters; SELECT count(*) >= 0
                       FROM rowlock_names;
                       SELECT count(*) >= 0 FROM rowlock_jobs; SELECT count(*) >= 0
                       FROM rowlock_subjects"
    [ "$output" = $'1\n1\n1\n1' ]
    for call in "CALL rowlock_begin_exclusive('x')" "CALL rowlock_vacuum(@n)" \
        "CALL rowlock_acquire('x', 60000, 'exclusive', NULL, @t)"; do
        run say_as "$eye" "$call"
        [[ $output == "ERROR 1370 (42000)"*"execute command denied"* ]]
    done
    run say_as "$eye" "DELETE FROM rowlock_lease"
    [[ $output == "ERROR 1142 "* ]]
    ! is_mysql || return 0 # its views show leases only
    sql "GRANT PROCESS ON *.* TO $eye@localhost"
    both() { [ "$(seen)" = $'contended\ttransaction\nseen\tlease' ]; }
    until_seen both
}

@test "the printed GRANTs let the application request a lease, call the roll and cancel" {
    sql "CALL rowlock_enqueue(CONCAT(HEX('rolled'), ':x:0:0'), 'silent', 0, 600000, 'h', 1, 'c',
         NULL)"
    called() {
        run say_as "$app" "CALL rowlock_request_row('rolled', 60000, 'the owner called a', 2000,
                           'exclusive', NULL, NULL, NULL, NULL, NULL)"
        [[ $output == NULL*2*NULL*200 ]] &&
            [ "$(sql "SELECT count(*) FROM rowlock_waiter
                      WHERE name = 'rolled' AND roll_call > 0")" = 1 ]
    }
    until_true called
    run say_as "$app" "CALL rowlock_cancel('rolled', 'the owner called a', @c); SELECT @c"
    [ "$output" = 1 ]
    sql "DELETE FROM rowlock_waiter WHERE name = 'rolled'"
}

@test "the command's lists of holders are one result set, with PROCESS and without" {
    sql "CALL rowlock_acquire('one set', 600000, 'exclusive', NULL, @t)"
    for user in root "$app"; do
        for procedure in rowlock_list rowlock_holder; do
            mariadb --no-defaults --socket="$ROWLOCK_TEST_MARIADB_SOCKET/socket" -u "$user" -vv \
                "$database" -e "CALL $procedure('one set')" >sets
            cat sets
            [ "$(grep -cE '^Empty set|^[0-9]* rows? in set' sets)" = 1 ]
            grep -q '^1 row in set' sets
        done
    done
}

@test "every view runs with its reader's rights" {
    [ "$(sql "SELECT count(*) FROM information_schema.views WHERE table_schema = database()
              AND security_type <> 'INVOKER'")" = 0 ]
    [ "$(sql "SELECT count(*) FROM information_schema.views
              WHERE table_schema = database()")" -ge 5 ]
}
