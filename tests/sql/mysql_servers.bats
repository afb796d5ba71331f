#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# MySQL's own: settings that might break rowlock, passwords, read-only servers, KILL QUERY. The test
# has a server with all the settings, and the accounts of docs/databases.md, "Begin with MySQL",
# which have only the GRANTs of that page and those that rowlock prints.
# Runs on: mysql

load mariadb
# shellcheck source=tests/lib/server.sh
. "$BATS_TEST_DIRNAME/../lib/server.sh"
own=${own:-mysql-$$}

strict=(--sql-require-primary-key=ON --log-bin --server-id=7 --gtid-mode=ON
    --enforce-gtid-consistency=ON --binlog-format=ROW --log-bin-trust-function-creators=OFF
    --character-set-server=utf8mb4 --collation-server=utf8mb4_0900_ai_ci)

start_own() { # [OPTION...]
    start_mariadb "$own" "${strict[@]}" "$@"
    export ROWLOCK_TEST_MARIADB_SOCKET=$server_socket OWN_PORT=$server_port
    export ROWLOCK_TEST_URL="mysql://app:pass@127.0.0.1:$server_port/test_own?ssl=on"
}
as_root() { as_root_of_mariadb -N -B "$@"; }
sql() { as_root test_own -e "$1"; } # the URL has more than the database at its end
# The page's commands for this server: its SQL, or its commands for a shell.
page() { # sql|shell
    sed -n '/^## Begin with MySQL/,/^## Connect/s/^    //p' \
        "$BATS_TEST_DIRNAME/../../docs/databases.md" |
        sed -e "s/shop/test_own/g; s/'[.][.][.]'/'pass'/" \
            -e "s/:[.][.][.]@db/:pass@127.0.0.1:$server_port/" |
        if [ "$1" = sql ]; then sed '/^rowlock/,$d'; else sed -n '/^rowlock/,$p'; fi
}
setup_file() {
    export own
    start_own
    cd "$BATS_FILE_TMPDIR" || return 1
    page sql | as_root
    printf '#!/bin/sh\ntouch backed-up\n' >backup.sh
    chmod +x backup.sh
    (
        rowlock() { "$ROWLOCK" "$@"; }
        mysql() { as_root test_own; }
        # doctor warns of this test's server
        eval "$(page shell | sed 's/^rowlock doctor$/& || [ $? = 1 ]/')"
    )
    [ -e backed-up ]
}
teardown_file() { stop_server "$own"; }
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    database=test_own
}
teardown() { close_sessions; }
token_of() { rowlock acquire --ttl 10m "$1"; }

@test "with a strict server and the printed GRANTs alone every kind of lock works" {
    rowlock run --tx -n tx -- true
    rowlock run -n lease -- true
    rowlock run -n --shared lease -- true
    token=$(token_of held)
    run -75 rowlock run -n held -- true
    rowlock check held --token "$token"
    rowlock release held --token "$token"
    [ "$(rowlock next bill)" = 1 ]
    rowlock job nightly --every 1h -- true
    rowlock refresh rates --max-age 1h -- true
    rowlock ls
    rowlock log
}

@test "technique insert is refused, for a new database and in a printed schema" {
    as_root -e "CREATE DATABASE test_insert; GRANT ALL ON test_insert.* TO installer@'%'"
    url="mysql://installer:pass@127.0.0.1:$OWN_PORT/test_insert?ssl=on"
    for options in '--technique insert' '--table mine'; do
        # shellcheck disable=SC2086
        run -64 "$ROWLOCK" --db "$url" schema install $options
        [[ $output == *"mysql does not offer technique insert; it has row"* ]]
        # shellcheck disable=SC2086
        run -64 "$ROWLOCK" schema print mysql $options
        [[ $output == *"mysql does not offer technique insert; it has row"* ]]
    done
    [ -z "$(as_root test_insert -e 'SHOW TABLES')" ]
    "$ROWLOCK" --db "$url" schema install
    "$ROWLOCK" --db "$url" schema uninstall
}

@test "a schema of root is upgraded by an account with SYSTEM_USER, as the refusal names it" {
    as_root -e "CREATE DATABASE test_root; GRANT ALL ON test_root.* TO installer@'%'"
    url="mysql://installer:pass@127.0.0.1:$OWN_PORT/test_root?ssl=on"
    "$ROWLOCK" --db "mysql://root@127.0.0.1:$OWN_PORT/test_root" schema install
    ROWLOCK=${ROWLOCK%/*}/next/rowlock
    run -69 "$ROWLOCK" --db "$url" schema upgrade
    [[ $output == *"belongs to root@"* ]]
    grant=${output#*allow it: }
    as_root -e "${grant%% (database*}"
    "$ROWLOCK" --db "$url" schema upgrade
    "$ROWLOCK" --db "$url" schema uninstall
    as_root -e "REVOKE SYSTEM_USER ON *.* FROM installer@'%'; DROP DATABASE test_root"
}

@test "after an upgrade or a repair an account works with the GRANTs that were printed before" {
    url="mysql://installer:pass@127.0.0.1:$OWN_PORT/test_own?ssl=on"
    token=$(token_of kept)
    run -69 "${ROWLOCK%/*}/next/rowlock" --db "$url" schema upgrade
    grant=${output#*allow it: }
    as_root -e "${grant%% (database*}"
    "${ROWLOCK%/*}/next/rowlock" --db "$url" schema upgrade
    sql 'UPDATE rowlock_meta SET version = 1' # so that this version works with it
    rowlock release kept --token "$token"
    sql 'DROP PROCEDURE rowlock_next'
    "$ROWLOCK" --db "$url" schema install
    rowlock run -n upgraded -- true
    rowlock next repaired
    run rowlock doctor
    [[ $output != *GRANT* ]]
}

@test "vacuum works with sql_safe_updates" {
    sql "INSERT INTO rowlock_roll_caller (ticket, behind, due) VALUES (1, 1, utc_timestamp(6))"
    sql "SET SESSION sql_safe_updates = 1; CALL rowlock_vacuum(@removed)"
    [ "$(sql "SELECT count(*) FROM rowlock_roll_caller")" = 0 ]
}

@test "names that utf8mb4_0900_ai_ci takes for equal are different locks" {
    rowlock acquire --ttl 10m Straße >/dev/null
    for name in straße Strasse STRASSE 'Straße '; do rowlock run -n "$name" -- true; done
    run -75 rowlock run -n Straße -- true
    rowlock break --now Straße
}

@test "a password goes over TLS or a Unix socket, and is never given to a server without TLS" {
    plain=${ROWLOCK_TEST_URL%\?*}
    as_root -e 'FLUSH PRIVILEGES' # also the passwords that it has seen
    run -69 "$ROWLOCK" --db "$plain" ls
    [[ $output == *"ssl=on"* ]]
    run "$ROWLOCK" --db "$plain" doctor --only server
    [[ $output == *"add ssl=on"* && $output != *"correct the user"* ]]
    run -69 "$ROWLOCK" --db "$plain?ssl=off" ls
    "$ROWLOCK" --db "$plain?ssl=on" ls
    as_root -e 'FLUSH PRIVILEGES'
    "$ROWLOCK" --db "mysql://app:pass@/test_own?socket=$ROWLOCK_TEST_MARIADB_SOCKET/socket" ls
    run -69 "$ROWLOCK" --db "mysql://app:wrong@127.0.0.1:$OWN_PORT/test_own?ssl=on" ls
}

@test "KILL QUERY ends a wait for a row with the server's own error, and settings return" {
    open_session a 4
    open_session b 5
    echo "CALL rowlock_begin_exclusive('killed'); SELECT 'locked';" >&4
    until_true said a locked
    echo "SET innodb_lock_wait_timeout = 33; CALL rowlock_begin_exclusive('other');
          CALL rowlock_try_exclusive('killed', 20000, @got);" | tr '\n' ' ' >&5
    echo >&5
    until_true waits_for_a_row b
    as_root -e "KILL QUERY $(session_of b)"
    until_true grep -q '^ERROR 1317 (70100)' b
    echo "ROLLBACK; CALL rowlock_acquire('next', 60000, 'exclusive', NULL, @t);
          SELECT 'restored', @@innodb_lock_wait_timeout;" | tr '\n' ' ' >&5
    echo >&5
    until_true said b $'restored\t33'
    echo 'ROLLBACK;' >&4
}

# information_schema.processlist of MySQL fails with 3854 then.
@test "a statement with a character of four bytes in any session disturbs no end of a session" {
    open_session a 4
    open_session b 5
    echo "SET NAMES utf8mb4; SELECT SLEEP(100), '🔒';" >&4
    number=$(session_of b)
    is_there_with() { # CONDITION
        [ "$(as_root -e "SELECT count(*) FROM performance_schema.processlist WHERE $1")" = 1 ]
    }
    until_true is_there_with "id = $(session_of a) AND state = 'User sleep'"
    is_there_with "id = $number"
    sql "CALL rowlock_end_session($number, UUID_SHORT() DIV 16777216)"
    run ! is_there_with "id = $number"
    as_root -e "KILL $(session_of a)"
}

@test "a transaction that holds a name is listed for an account that may read performance_schema" {
    open_session a 4
    echo "CALL rowlock_begin_exclusive('seen'); SELECT 'locked';" >&4
    until_true said a locked
    pid() { rowlock --json ls seen | json '$[0].pid'; }
    [ "$(pid)" != "$(session_of a)" ]
    as_root -e "GRANT PROCESS ON *.* TO app@'%';
                GRANT SELECT ON performance_schema.data_locks TO app@'%';
                GRANT SELECT ON performance_schema.data_lock_waits TO app@'%'"
    rowlock ls seen
    [ "$(pid)" = "$(session_of a)" ]
    as_root -e "REVOKE PROCESS ON *.* FROM app@'%'"
    echo 'ROLLBACK;' >&4
}

@test "a read-only or super-read-only server is refused" {
    for setting in read_only super_read_only; do
        as_root -e "SET GLOBAL $setting = 1"
        for verb in 'run -n x' 'run --tx -n x'; do
            # shellcheck disable=SC2086
            run -69 rowlock $verb -- true
            [[ $output == *read-only* ]]
        done
        as_root -e 'SET GLOBAL super_read_only = 0; SET GLOBAL read_only = 0'
    done
    rowlock run -n x -- true
}

@test "a server of a group with several primaries is refused" {
    [ -e "$(as_root -e 'SELECT @@plugin_dir')/group_replication.so" ] || skip "there is no plugin"
    as_root -e "INSTALL PLUGIN group_replication SONAME 'group_replication.so';
                SET GLOBAL group_replication_single_primary_mode = OFF"
    run rowlock run -n x -- true
    as_root -e 'UNINSTALL PLUGIN group_replication'
    echo "$output"
    [ "$status" = 69 ]
    [[ $output == *'other nodes of its cluster accept writes'* ]]
    rowlock run -n x -- true
}

@test "doctor warns of a group whose next primary may not know all leases" {
    [ -e "$(as_root -e 'SELECT @@plugin_dir')/group_replication.so" ] || skip "there is no plugin"
    as_root -e "INSTALL PLUGIN group_replication SONAME 'group_replication.so';
                SET GLOBAL group_replication_consistency = 'EVENTUAL';
                SET GLOBAL group_replication_unreachable_majority_timeout = 0"
    run rowlock doctor --only server
    as_root -e "SET GLOBAL group_replication_consistency = 'BEFORE_ON_PRIMARY_FAILOVER';
                SET GLOBAL group_replication_unreachable_majority_timeout = 10"
    weak=$output
    run rowlock doctor --only server
    as_root -e 'UNINSTALL PLUGIN group_replication'
    echo "$weak" "$output"
    [[ $weak == *'consistency is EVENTUAL, so '*"= 'BEFORE_ON_PRIMARY_FAILOVER';"* ]]
    [[ $weak == *'unreachable_majority_timeout is 0, so '*'= 10;'* ]]
    [[ $output != *'Group Replication'* ]]
}

@test "p4 tokens rise although the counter is set back, as by a restored dump" {
    last=$(token_of token)
    as_root test_own -e 'TRUNCATE rowlock_token'
    rowlock break --now token
    [ "$(token_of token)" -gt "$last" ]
}

@test "p4 tokens rise in each innodb_autoinc_lock_mode, also after a crash of the server" {
    last=$(token_of before)
    for mode in 0 1 2; do
        stop_server "$own" KILL
        (start_own --innodb-autoinc-lock-mode=$mode) # no child of this shell, which waits for those
        [ "$(as_root -e 'SELECT @@innodb_autoinc_lock_mode')" = $mode ]
        rm -f out
        for i in 1 2 3 4; do
            start_rowlock acquire --ttl 10m "mode-$mode-$i"
        done
        until_true has_lines 4
        cat err
        [ "$(sort -un out | sed -n 1p)" -gt "$last" ]
        [ "$(sort -un out | wc -l)" = 4 ]
        last=$(sort -n out | sed -n '$p')
    done
}
has_lines() { [ "$(wc -l <out)" = "$1" ]; }
