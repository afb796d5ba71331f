#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Settings of sessions that rowlock has not made: the procedures work under them and restore what
# they change, the printed schema needs none, and sessions of rowlock's own replace those that
# init_connect sets. The server of this test sets some for every account but root.
# Runs on: mariadb/row
# Quick: first

load mariadb
# shellcheck source=tests/command/own_server.bash
. "$BATS_TEST_DIRNAME/../command/own_server.bash"
database=test_own
setup_file() {
    use_own --init-connect="SET sql_safe_updates = 1, sql_select_limit = 1, NAMES latin1"
    rowlock schema install
}
teardown() {
    close_sessions
    as_root_of_mariadb -e "DROP DATABASE IF EXISTS test_other"
}

# Calls of every public procedure, and their answers. Each begins as a session of its own would.
everything() {
    cat <<'SQL' | tr '\n' ' '
CALL rowlock_prepare('p'); CALL rowlock_prepare('counter:c'); CALL rowlock_prepare('subject:s');
CALL rowlock_begin_exclusive('p'); SELECT 'begun', @@in_transaction; COMMIT;
CALL rowlock_begin_shared('p'); COMMIT;
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION;
CALL rowlock_shared('p'); CALL rowlock_exclusive('p'); CALL rowlock_try_exclusive('p', 0, @got);
CALL rowlock_try_shared('p', 10, @too); SELECT 'tried', @got, @too; COMMIT;
START TRANSACTION; CALL rowlock_next('c', @n); CALL rowlock_next('c', @m); COMMIT;
SELECT 'drawn', @m - @n;
START TRANSACTION; CALL rowlock_refresh('s', 0, NULL, NULL, NULL, NULL, @v);
CALL rowlock_refreshed('s', @v); COMMIT; SELECT 'refreshed', @v > 0;
START TRANSACTION; CALL rowlock_refresh('s', 3600000, 100, 'h', 1, 'p', @v); COMMIT;
SELECT 'fresh', @v;
CALL rowlock_acquire('l', 60000, 'exclusive', NULL, @t);
CALL rowlock_acquire('l', 60000, 'exclusive', NULL, @busy);
SELECT 'acquired', @t > 0, @busy;
CALL rowlock_acquire('m', 60000, 'shared', NULL, @s); CALL rowlock_acquire('m', 60000, 'shared',
NULL, @s2); CALL rowlock_acquire('q', 60000, 'permit', 1, @p);
CALL rowlock_acquire('q', 60000, 'permit', 1, @p2); SELECT 'others', @s2 > @s, @p > 0, @p2;
CALL rowlock_renew(@t, 120000); START TRANSACTION; CALL rowlock_fence('l', @t); COMMIT;
CALL rowlock_request('l', 60000, 'an owner of sixteen', 0, 'exclusive', NULL, 'h', 1, 'p', 'n',
@token, @ticket, @place, @holder, @pause_ms);
SELECT 'queued', @token, @ticket > 0, @place, LEFT(@holder, 7);
CALL rowlock_request('l', 60000, 'an owner of sixteen', 20, 'exclusive', NULL, 'h', 1, 'p', 'n',
@token, @ticket, @place, @holder, @pause_ms); SELECT 'waits', @token, @place;
CALL rowlock_release(@t, @r); SELECT 'released', @r;
CALL rowlock_cancel('l', 'an owner of sixteen', @c); SELECT 'canceled', @c;
CALL rowlock_request_row('l', 60000, 'another of sixteen', 0, 'exclusive', NULL, 'h', 1, 'p', 'n');
CALL rowlock_cancel('l', 'another of sixteen', @c); SELECT 'canceled', @c;
CALL rowlock_renew(@t, 60000);
CALL rowlock_release(@s, @r); CALL rowlock_release(@s2, @r); CALL rowlock_release(@p, @r);
START TRANSACTION; CALL rowlock_exclusive('p'); CALL rowlock_unlock('p'); COMMIT;
START TRANSACTION; CALL rowlock_exclusive('p'); ROLLBACK;
CALL rowlock_claim('j', 'every 50w', 'an owner of sixteen', NULL, NULL, NULL, NULL, NULL, NULL,
NULL, 'h', 1, 'p', 'n', @j, @due, @repeats, @state, @pause, @lost, @former);
SELECT 'claimed', @j > 0, @state, @pause;
CALL rowlock_claim_row('j', '@daily', 'another of sixteen', NULL, '+02:00', 1, 0, 'skip', 0, 10,
NULL, NULL, NULL, NULL);
CALL rowlock_finish(@j, 'done', 'output', NULL, @r); SELECT 'finished', @r;
CALL rowlock_vacuum(@n); SELECT 'vacuum', @n > 0, @@in_transaction;
SQL
}
answers() { # SETTING: of everything in a session with it, without numbers that differ
    say "SELECT 'session'; $1; $(everything)" | sed 's/[0-9]\{12,\}/N/g; /^1$/d'
    sql "DELETE FROM rowlock_subject; DELETE FROM rowlock_prepared; DELETE FROM rowlock_name;
         DELETE FROM rowlock_job; DELETE FROM rowlock_run"
}

@test "every procedure works under every setting of the session that does not forbid it" {
    answers "DO 0" >usual
    cat usual
    [ "$(grep -c '^ERROR' usual)" = 2 ] # a renewal after the release, and a name not prepared
    grep -q 'RL005' usual
    grep -q 'RL008' usual
    settings=("sql_safe_updates = 1" "sql_select_limit = 1" "sql_mode = ''"
        "sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,HIGH_NOT_PRECEDENCE'"
        "group_concat_max_len = 4" "NAMES latin2" "NAMES cp850" "NAMES cp1250" "NAMES greek"
        "collation_connection = ucs2_general_ci" "character_set_results = NULL"
        "innodb_lock_wait_timeout = 1" "sql_auto_is_null = 1" "div_precision_increment = 0"
        "lc_time_names = 'de_DE'" "timestamp = 2147483000" "timestamp = 1" "time_zone = '-11:30'"
        "SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE" "foreign_key_checks = 0"
        "big_tables = 1")
    is_mysql || settings+=("sql_mode = 'ORACLE'" "sql_mode = 'EMPTY_STRING_IS_NULL'"
        "max_statement_time = 100" "system_versioning_asof = '2020-01-01'" "sql_if_exists = 1"
        "sql_mode = 'SIMULTANEOUS_ASSIGNMENT,TIME_ROUND_FRACTIONAL'")
    for setting in "${settings[@]}"; do
        echo "$setting"
        answers "SET $setting" | diff usual -
    done
}

@test "p8 the server's clock ends a try, also in a session that has set another time" {
    token=$(rowlock acquire --ttl 1h busy)
    for instant in 1 2147483000; do
        run say "CALL rowlock_prepare('busy'); $committed_level; START TRANSACTION;
                 SET timestamp = $instant; CALL rowlock_try_exclusive('busy', 0, @got);
                 SELECT @got; SET timestamp = $instant; CALL rowlock_try_shared('busy', 0, @got);
                 SELECT @got; ROLLBACK"
        [ "$output" = $'0\n0' ]
    done
    rowlock release busy --token "$token"
}

@test "p1 SET timestamp neither shortens nor ends a lease of the library on such a session" {
    for instant in 1 2147483000; do
        sql "SET timestamp = $instant;
             CALL rowlock_grant(CONCAT(HEX('set'), ':x:0:0'), 'an owner', 60000, 0, 0, 0, 'h', 1,
                                'c', NULL);
             SET timestamp = $instant; CALL rowlock_expired(CONCAT(HEX('set'), ':x:0'));
             SET @token = (SELECT token FROM rowlock_held WHERE name = 'set');
             SET timestamp = $instant; CALL rowlock_sweep(@token)"
        run sql "SELECT COUNT(*), MIN(expires > utc_timestamp() + INTERVAL 30 SECOND),
                        MAX(expires < utc_timestamp() + INTERVAL 70 SECOND)
                   FROM rowlock_held WHERE name = 'set'"
        [ "$output" = $'1\t1\t1' ]
        rowlock break --now set
    done
}

@test "the procedures for leases and vacuum restore the isolation level, also with an error" {
    calls=("rowlock_prepare('x')" "rowlock_acquire('x', 60000, 'exclusive', NULL, @t)"
        "rowlock_acquire('x', 60000, 'exclusive', NULL, @busy)" "rowlock_renew(@t, 60000)"
        "rowlock_request('x', 60000, 'an owner of sixteen', 0, 'exclusive', NULL, NULL, NULL, NULL,
                         NULL, @token, @ticket, @place, @holder, @pause_ms)"
        "rowlock_request_row('x', 60000, 'an owner of sixteen', 10, 'exclusive', NULL, NULL, NULL,
                             NULL, NULL)"
        "rowlock_cancel('x', 'an owner of sixteen', @c)" "rowlock_release(@t, @r)"
        "rowlock_release(@t, @r)" "rowlock_renew(@t, 60000)" "rowlock_vacuum(@n)"
        "rowlock_acquire('', 60000, 'exclusive', NULL, @t)"
        "rowlock_acquire('y', 60000, 'permit', 1, @p)"
        "rowlock_acquire('y', 60000, 'permit', 2, @p)"
        "rowlock_request('y', 60000, 'an owner of sixteen', 0, 'permit', 2, NULL, NULL, NULL,
                         NULL, @token, @ticket, @place, @holder, @pause_ms)"
        "rowlock_cancel('x', 'an owner of sixteen', @c)")
    for level in "REPEATABLE READ" "SERIALIZABLE" "READ COMMITTED"; do
        for call in "${calls[@]}"; do
            echo "CALL $call; SELECT CONCAT('level ', @@tx_isolation); START TRANSACTION;
                  SELECT 1; CALL $call; SELECT CONCAT('level ', @@tx_isolation); ROLLBACK;"
        done | tr '\n' ' ' >calls
        say "SET SESSION TRANSACTION ISOLATION LEVEL $level; $(cat calls)" >levels
        [ "$(grep -c '^level' levels)" = $((2 * ${#calls[@]})) ]
        [ "$(grep '^level' levels | sort -u)" = "level ${level/ /-}" ]
        rowlock break --now y || :
    done
}

@test "sessions of rowlock's own need no setting of the server: install, lock, list" {
    rowlock schema uninstall --force
    rowlock schema install
    rowlock run 'grüße' -- true
    rowlock hold --for 1h --note 'Ümläute' 'grüße'
    rowlock acquire --ttl 1h second
    [ "$(rowlock --json ls | jq -r '.[].name' | sort | paste -sd' ')" = 'grüße second' ]
    rowlock job first --every 1h -- true
    rowlock job second --every 1h -- true
    [ "$(rowlock --json jobs | jq length)" = 2 ]
    rowlock vacuum
    run rowlock doctor
    [[ $output != *lacks* && $output != *damaged* && $output != *missing* ]]
    rowlock break --now 'grüße'
}

# print SETTING DATABASE-CHARSET CLIENT-CHARSET: as a DBA runs it, without the GRANTs; prints the
# settings of the session before and after it.
print() {
    local settings="SELECT @@sql_mode, @@sql_safe_updates, @@sql_select_limit,
        @@character_set_client, @@character_set_results, @@collation_connection"
    as_root_of_mariadb -e "DROP DATABASE IF EXISTS test_other;
        CREATE DATABASE test_other CHARACTER SET $2"
    {
        echo "SET $1; $settings;" | tr '\n' ' '
        echo
        rowlock schema print | sed '/^GRANT /d'
        tr '\n' ' ' <<<"$settings;"
    } | as_root_of_mariadb -N -B --default-character-set="$3" test_other
}
@test "the printed schema needs no setting, and restores those that it changes" {
    while IFS='|' read -r setting in_database client; do
        echo "$setting|$in_database|$client"
        print "$setting" "$in_database" "$client" >printed
        [ "$(wc -l <printed)" = 2 ]
        [ "$(uniq printed | wc -l)" = 1 ]
        (database=test_other say "$(everything)" >said_other)
        [ "$(grep -c '^ERROR' said_other)" = 2 ]
        grep -q RL005 said_other
        grep -q RL008 said_other
        (
            export ROWLOCK_TEST_URL=${ROWLOCK_TEST_URL%/*}/test_other
            rowlock schema install
            rowlock run -n 'ärger' -- true
            rowlock job job --every 1h -- echo 'ä'
            [ "$(rowlock --json jobs job | jq -r '.[].last_outcome')" = done ]
            rowlock refresh subject --max-age 0 -- true
            [ "$(rowlock --json subjects | jq -r '.[-1].status')" = COMPLETE ]
            rowlock acquire --ttl 1h held
            [ "$(rowlock --json ls | jq -r '.[].name')" = held ]
        )
    done < <(combinations)
}
combinations() {
    is_mysql || echo "sql_mode = 'ORACLE'|utf8mb4|utf8mb4"
    echo "sql_mode = 'ANSI_QUOTES'|utf8mb4|latin2
sql_mode = 'NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'|latin1|cp850
sql_safe_updates = 1, sql_select_limit = 1|ucs2|cp1250
sql_mode = ''|utf16|greek
sql_mode = ''|utf32|utf8mb4"
}

@test "install works in databases of every character set" {
    for charset in ucs2 utf16 utf32; do
        as_root_of_mariadb -e "DROP DATABASE IF EXISTS test_other;
            CREATE DATABASE test_other CHARACTER SET $charset"
        (
            export ROWLOCK_TEST_URL=${ROWLOCK_TEST_URL%/*}/test_other
            rowlock schema install
            rowlock job job --every 1h -- false || [ $? = 1 ]
            [ "$(rowlock --json jobs | jq -r '.[].last_outcome')" = failed ]
            rowlock schema uninstall --force
        )
    done
}
