#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# MySQL's own: settings that might break rowlock, passwords, read-only servers, KILL QUERY. The test
# has a server with all the settings, and accounts that have only the GRANTs that rowlock prints.
# Runs on: mysql

load mariadb
# shellcheck source=tests/lib/server.sh
. "$BATS_TEST_DIRNAME/../lib/server.sh"
own=${own:-mysql-$$}

strict=(--sql-require-primary-key=ON --log-bin --server-id=7 --gtid-mode=ON
    --enforce-gtid-consistency=ON --binlog-format=ROW --log-bin-trust-function-creators=OFF
    --character-set-server=utf8mb4 --collation-server=utf8mb4_0900_ai_ci)

start_own() {
    start_mariadb "$own" "${strict[@]}"
    export ROWLOCK_TEST_MARIADB_SOCKET=$server_socket OWN_PORT=$server_port
    export ROWLOCK_TEST_URL="mysql://app:pass@127.0.0.1:$server_port/test_own?ssl=on"
}
as_root() { as_root_of_mariadb -N -B "$@"; }
sql() { as_root test_own -e "$1"; } # the URL has more than the database at its end
setup_file() {
    export own
    start_own
    as_root -e "CREATE DATABASE test_own; CREATE USER installer@'%', app@'%' IDENTIFIED BY 'pass';
                GRANT CREATE, DROP, CREATE VIEW, CREATE ROUTINE, ALTER ROUTINE, EXECUTE, SELECT,
                      INSERT, UPDATE, DELETE ON test_own.* TO installer@'%'"
    installer=mysql://installer@127.0.0.1:$server_port/test_own
    "$ROWLOCK" --db "$installer" schema install --technique row
    "$ROWLOCK" --db "$installer" schema print --technique row --grants --role 'app@%' >"$own.sql"
    as_root test_own <"$own.sql"
    rm "$own.sql"
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
    run rowlock run -n held -- true
    [ "$status" = 75 ]
    rowlock check held --token "$token"
    rowlock release held --token "$token"
    [ "$(rowlock next bill)" = 1 ]
    rowlock job nightly --every 1h -- true
    rowlock refresh rates --max-age 1h -- true
    rowlock ls
    rowlock log
}

@test "technique insert installs on a strict server" {
    as_root -e "CREATE DATABASE test_insert; GRANT ALL ON test_insert.* TO installer@'%'"
    url=mysql://installer@127.0.0.1:$OWN_PORT/test_insert
    "$ROWLOCK" --db "$url" schema install --technique insert
    "$ROWLOCK" --db "$url" run --tx -n tx -- true
    "$ROWLOCK" --db "$url" run -n lease -- true
    "$ROWLOCK" --db "$url" schema uninstall
}

@test "names that utf8mb4_0900_ai_ci takes for equal are different locks" {
    rowlock acquire --ttl 10m Straße >/dev/null
    for name in straße Strasse STRASSE 'Straße '; do rowlock run -n "$name" -- true; done
    run rowlock run -n Straße -- true
    [ "$status" = 75 ]
    rowlock break --now Straße
}

@test "a password goes over TLS or a Unix socket, and is never given to a server without TLS" {
    plain=${ROWLOCK_TEST_URL%\?*}
    as_root -e 'FLUSH PRIVILEGES' # also the passwords that it has seen
    run "$ROWLOCK" --db "$plain" ls
    echo "$output"
    [ "$status" = 69 ]
    [[ $output == *"ssl=on"* ]]
    run "$ROWLOCK" --db "$plain?ssl=off" ls
    [ "$status" = 69 ]
    "$ROWLOCK" --db "$plain?ssl=on" ls
    as_root -e 'FLUSH PRIVILEGES'
    "$ROWLOCK" --db "mysql://app:pass@/test_own?socket=$ROWLOCK_TEST_MARIADB_SOCKET/socket" ls
    run "$ROWLOCK" --db "mysql://app:wrong@127.0.0.1:$OWN_PORT/test_own?ssl=on" ls
    [ "$status" = 69 ]
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
            run rowlock $verb -- true
            echo "$output"
            [ "$status" = 69 ]
            [[ $output == *read-only* ]]
        done
        as_root -e 'SET GLOBAL super_read_only = 0; SET GLOBAL read_only = 0'
    done
    rowlock run -n x -- true
}

@test "p4 tokens rise although the counter is set back, as by a restored dump" {
    last=$(token_of token)
    as_root test_own -e 'TRUNCATE rowlock_token'
    rowlock break --now token
    [ "$(token_of token)" -gt "$last" ]
}
