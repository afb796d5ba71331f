# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# The engines of tests/torture/run: their servers, a database for each cell, and its rows
# afterwards. Functions of each engine: open_NAME DATABASE sets url; sql_NAME SQL; terminate_NAME
# and cancel_NAME end a session or a statement, which a number selects.

started= # engines
disk=    # the file system of a server, or none
name_postgresql=$prefix-postgresql name_mariadb=$prefix-mariadb # of their servers
name_mysql=$prefix-mysql name_tidb=$prefix-tidb
name_h2=$prefix-h2 name_hsqldb=$prefix-hsqldb name_derby=$prefix-derby
server_options=() # of the servers that are started
start_engine() { # ENGINE: starts its server, or restarts it after a crash
    local name=name_$1
    [ "$1" != sqlite ] || return 0
    "start_$1" "${!name}" "${server_options[@]}" || return 1
    export "port_$1=$server_port" "url_$1=$server_url"
    is_started "$1" || started="$started $1"
}
start_mysql() { # NAME
    [ -x "$mysql_bin/mysqld" ] || tools/get-mysql "${mysql_bin%/bin}" || return
    MYSQL_BIN=$mysql_bin start_mariadb "$@"
}
is_started() { [ "$1" = sqlite ] || case " $started " in *" $1 "*) ;; *) return 1 ;; esac; }
stop_engines() {
    local file folders=()
    thaw
    [ -z "${CLUSTERS:-}" ] || stop_network
    for file in "$ROWLOCK_TEST_FOLDER/$prefix"-*/pid; do
        folders+=("${file%/pid}")
        stop_server "$(basename "${file%/pid}")"
    done
    [ -z "$disk" ] || umount --lazy "$disk"
    disk=
    rm -rf "${folders[@]}"
    started=
}
crash_engine() { # ENGINE
    local name=name_$1
    stop_server "${!name}" KILL 2>/dev/null
    start_engine "$1"
}
freeze_engine() { # ENGINE MS: stops the processes of its server for that time
    local name=name_$1 pid
    pid=$(cat "$ROWLOCK_TEST_FOLDER/${!name}/pid")
    frozen="$pid $(pgrep -d ' ' -P "$pid")"
    # shellcheck disable=SC2086
    kill -s STOP $frozen 2>/dev/null
    nap_ms "$2"
    thaw
}
frozen=
thaw() {
    # shellcheck disable=SC2086
    [ -z "$frozen" ] || kill -s CONT $frozen 2>/dev/null
    frozen=
}

# A new database for a cell; sets url.
open_sqlite() { url=sqlite:$cell_folder/data/torture.db; }
open_postgresql() { # NAME
    database=$1
    sql_postgresql "CREATE DATABASE $1 OWNER tester" postgres && url=$url_postgresql$1
}
open_mariadb() { # NAME
    database=test_$1
    sql_mariadb "CREATE DATABASE test_$1 CHARACTER SET utf8mb4" mysql && url=${url_mariadb}test_$1
}
open_mysql() { # NAME
    database=test_$1
    sql_mysql "CREATE DATABASE test_$1 CHARACTER SET utf8mb4" mysql && url=${url_mysql}test_$1
}
open_tidb() { # NAME
    database=test_$1
    sql_tidb "CREATE DATABASE test_$1" mysql && url=${url_tidb}test_$1
}
# In files, because a server in memory forgets what a crash ends.
open_h2() { url=$(jdbc_url h2 "$port_h2" "$1" kept); }
open_hsqldb() {
    url=$(jdbc_url hsqldb "$port_hsqldb" "$1" "$ROWLOCK_TEST_FOLDER/$name_hsqldb/data")
}
open_derby() { url=$(jdbc_url derby "$port_derby" "$1"); }
drop_database() { # ENGINE
    case $1 in
    postgresql) sql_postgresql "DROP DATABASE IF EXISTS $database WITH (FORCE)" postgres ;;
    mariadb | mysql | tidb) "sql_$1" "DROP DATABASE IF EXISTS $database" mysql ;;
    esac >/dev/null 2>&1
}

# SQL [DATABASE]: as the superuser; prints rows of words
sql_sqlite() { sqlite3 -cmd '.timeout 10000' -separator ' ' "${url#sqlite:}" "$1"; }
sql_postgresql() {
    "$(postgresql_program psql)" -qAtX -F ' ' -h "$ROWLOCK_TEST_FOLDER/$name_postgresql" \
        -p "$port_postgresql" -U postgres -d "${2:-$database}" -c "$1"
}
sql_mariadb() {
    mariadb --no-defaults --socket="$ROWLOCK_TEST_FOLDER/$name_mariadb/socket" -u root -NB \
        -e "$1" "${2:-$database}"
}
sql_mysql() { name_mariadb=$name_mysql sql_mariadb "$@"; } # by the client of MariaDB
sql_tidb() {
    mariadb --no-defaults -h 127.0.0.1 -P "$port_tidb" -u root -NB -e "$1" "${2:-$database}"
}

# shellcheck source=tests/lib/processlist.bash
. tests/lib/processlist.bash

# FUNCTION NUMBER: of a session of the cell's, which the number selects
choose_postgresql() {
    sql_postgresql "SELECT $1(pid) FROM (SELECT pid FROM pg_stat_activity
        WHERE datname = '$database' AND usename = 'tester'
        ORDER BY md5(pid::text || '$2') LIMIT 1) one"
}
choose_mariadb() { # also for MySQL, which has no MD5() and no EXECUTE IMMEDIATE
    "sql_$engine" "SET @one = (SELECT id FROM $processlist
        WHERE db = '$database' AND user = 'rowlock' ORDER BY sha2(concat(id, '$2'), 256) LIMIT 1);
        SET @text = concat('$1 ', ifnull(@one, 0)); PREPARE ending FROM @text; EXECUTE ending"
}
terminate_postgresql() { choose_postgresql pg_terminate_backend "$1"; }
cancel_postgresql() { choose_postgresql pg_cancel_backend "$1"; }
terminate_mariadb() { choose_mariadb KILL "$1"; }
cancel_mariadb() { choose_mariadb 'KILL QUERY' "$1"; }
choose_tidb() { # COMMAND NUMBER
    local one
    one=$(sql_tidb "SELECT id FROM information_schema.processlist WHERE db = '$database'
        AND user = 'rowlock' ORDER BY sha2(concat(id, '$2'), 256) LIMIT 1") &&
        [ -z "$one" ] || sql_tidb "$1 $one"
}
terminate_tidb() { choose_tidb KILL "$1"; }
cancel_tidb() { choose_tidb 'KILL QUERY' "$1"; }
terminate_mysql() { terminate_mariadb "$1"; }
cancel_mysql() { cancel_mariadb "$1"; }

# The rows that the clients wrote, as lines of a log.
rows_of() { # ENGINE
    case $1 in h2 | hsqldb | derby)
        ROWLOCK_TEST_URL=$prepared_url "$worker" rows "$workload" 0 "$SEED" "$cell_folder/data" \
            2>>"$cell_folder/data/errors"
        return
        ;;
    esac
    "sql_$1" "SELECT 0, client, op, 'ok', 'final', k, n, token FROM torture_row ORDER BY k, n"
}

# ---- the server's clock ------------------------------------------------------------------------

clock_file=$ROWLOCK_TEST_FOLDER/$prefix-clock
set_clock() { # MS: so much ahead of the real time
    local sign=+ ms=$1
    [ "$ms" -ge 0 ] || sign=- ms=${ms#-}
    printf '%s%d.%03d\n' $sign $((ms / 1000)) $((ms % 1000)) >"$clock_file.new"
    chmod 644 "$clock_file.new"
    mv "$clock_file.new" "$clock_file"
}
use_clock() { # servers that are started from now on have that clock
    [ -e "$clock_file" ] || set_clock 0
    server_environment=(FAKETIME_TIMESTAMP_FILE="$clock_file" FAKETIME_NO_CACHE=1
        DONT_FAKE_MONOTONIC=1 FAKETIME_DONT_FAKE_MONOTONIC=1
        LD_PRELOAD="$(find /usr/lib/*/faketime -name libfaketimeMT.so.1 -print -quit)")
}

# ---- a standby: synchronous, or asynchronous under the fault "async" ----------------------------

standbys=0
name_standby() { standby=$prefix-standby$((standbys += 1)); }
add_standby_postgresql() { # [PORT]: sets standby and port_standby; waits until it is connected
    local tries=0 kind=async
    name_standby
    mkdir -p "$ROWLOCK_TEST_FOLDER/$standby"
    [ $# = 0 ] || echo "$1" >"$ROWLOCK_TEST_FOLDER/$standby/port"
    start_standby "$standby" "$name_postgresql" >/dev/null || return 1
    port_standby=$server_port
    if [ "$fault" = failover ]; then
        kind=sync
        sql_postgresql "ALTER SYSTEM SET synchronous_standby_names = '*'" postgres &&
            sql_postgresql 'SELECT pg_reload_conf()' postgres >/dev/null || return 1
    fi
    until [ "$(sql_postgresql "SELECT sync_state FROM pg_stat_replication
        WHERE state = 'streaming'" postgres)" = $kind ]; do
        [ $((tries += 1)) -lt 200 ] || return 1
        nap 0.05
    done
}
# Both servers, of which the clients find the primary.
open_pair_postgresql() {
    add_standby_postgresql &&
        url="postgresql://tester@127.0.0.1:$port_postgresql,127.0.0.1:$port_standby/$database$(
        )?target_session_attrs=read-write&connect_timeout=2"
}
# The standby receives nothing more. It has everything that was acknowledged before the event.
let_lag_postgresql() {
    local upto sender tries=0
    upto=$(sql_postgresql 'SELECT pg_current_wal_insert_lsn()' postgres) || return 1
    until sender=$(sql_postgresql "SELECT pid FROM pg_stat_replication
        WHERE flush_lsn >= '$upto'" postgres) && [ -n "$sender" ]; do
        [ $((tries += 1)) -lt 200 ] || return 1
        nap 0.05
    done
    kill -s STOP "$sender"
}
promote_postgresql() { # PORT: of the old primary, which the next standby gets
    port_postgresql=$port_standby
    sql_postgresql 'SELECT pg_promote(true, 60)' postgres >/dev/null && add_standby_postgresql "$1"
}

# A replica of MariaDB repeats the log of its primary from the beginning.
replicate() {
    server_options=(--log-bin=log --log-slave-updates --log-bin-trust-function-creators=ON
        --rpl-semi-sync-slave-enabled=ON --rpl-semi-sync-master-wait-point=AFTER_SYNC
        --rpl-semi-sync-master-timeout=100000000 --server-id=1)
}
on_standby() { name_mariadb=$standby "$@"; } # COMMAND of a replica of MariaDB
start_standby_mariadb() { # OPTION...
    start_mariadb "$standby" "${server_options[@]}" --server-id=$((standbys + 1)) "$@"
}
has_received_mariadb() { # waits until the replica has everything that is committed
    local upto
    upto=$(sql_mariadb 'SELECT @@gtid_binlog_pos' mysql) &&
        [ "$(on_standby sql_mariadb "SELECT master_gtid_wait('$upto', 10)" mysql)" = 0 ]
}
add_standby_mariadb() {
    name_standby
    start_standby_mariadb --read-only || return 1
    on_standby sql_mariadb "CHANGE MASTER TO master_host = '127.0.0.1', master_user = 'root',
        master_port = $port_mariadb, master_ssl = 0, master_use_gtid = slave_pos;
        START SLAVE" mysql || return 1
    [ "$fault" != failover ] ||
        sql_mariadb 'SET GLOBAL rpl_semi_sync_master_enabled = ON' mysql || return 1
    has_received_mariadb
}
open_pair_mariadb() { add_standby_mariadb; }
let_lag_mariadb() { has_received_mariadb && on_standby sql_mariadb 'STOP SLAVE IO_THREAD' mysql; }
# The primary's address moves to the replica, when it has executed what it has received.
promote_mariadb() { # PORT
    local tries=0
    sql_mariadb 'STOP SLAVE IO_THREAD' mysql
    until [ "$(sql_mariadb "SELECT count(*) FROM $processlist
        WHERE command = 'Slave_SQL' AND state LIKE 'Slave has read all%'" mysql)" = 1 ]; do
        [ $((tries += 1)) -lt 200 ] || return 1
        nap 0.05
    done
    sql_mariadb 'STOP SLAVE; RESET SLAVE ALL' mysql || return 1
    stop_server "$standby"
    echo "$1" >"$ROWLOCK_TEST_FOLDER/$standby/port"
    start_standby_mariadb && add_standby_mariadb
}

# With its sessions at once: a client could be served by one that outlives the server briefly, and
# a stopped one would outlive it for long. Then all answers have arrived.
kill_primary() { # NAME
    local file=$ROWLOCK_TEST_FOLDER/$1/pid pids pid
    pids="$(cat "$file") $(pgrep -P "$(cat "$file")")"
    # shellcheck disable=SC2086
    kill -s KILL $pids
    for pid in $pids; do
        while is_running "$pid"; do nap 0.01; done
    done
    stop_server "$1" KILL
    nap 0.3
} 2>/dev/null
lag() {
    log_undone invoke
    "let_lag_$engine" || return 1
    draw 700
    nap_ms "$drawn"
}
# Kills the primary, promotes the standby, and adds a new one.
fail_over() {
    local name=name_$engine port=port_$engine old
    old=${!name}
    [ "$fault" != async ] || lag || return 1
    kill_primary "$old"
    [ "$fault" != async ] || log_undone ok
    declare -g "$name=$standby"
    rm -rf "${ROWLOCK_TEST_FOLDER:?}/${old:?}"
    "promote_$engine" "${!port}"
}

# ---- an older dump -----------------------------------------------------------------------------

dump_postgresql() {
    "$(postgresql_program pg_dump)" -Fc -h "$ROWLOCK_TEST_FOLDER/$name_postgresql" \
        -p "$port_postgresql" -U postgres "$database"
}
dump_mariadb() {
    mariadb-dump --no-defaults --socket="$ROWLOCK_TEST_FOLDER/$name_mariadb/socket" -u root \
        --single-transaction --routines "$database"
}
# From then on no client can use the database, and all answers have arrived.
close_postgresql() {
    sql_postgresql "ALTER DATABASE $database ALLOW_CONNECTIONS false" postgres &&
        sql_postgresql "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
            WHERE datname = '$database'" postgres >/dev/null
}
lock_accounts() { # LOCK or UNLOCK
    sql_mariadb "ALTER USER rowlock ACCOUNT $1; ALTER USER rowlock@localhost ACCOUNT $1" mysql
}
close_mariadb() {
    local id
    lock_accounts LOCK
    for id in $(sql_mariadb "SELECT id FROM $processlist
        WHERE user = 'rowlock'" mysql); do
        sql_mariadb "KILL HARD CONNECTION $id" mysql
    done 2>/dev/null # it has ended
    until [ "$(sql_mariadb "SELECT count(*) FROM $processlist
        WHERE user = 'rowlock'" mysql)" = 0 ]; do nap 0.05; done
}
# Clients find the restored database only as a whole.
reopen_postgresql() { # DUMP
    sql_postgresql "DROP DATABASE $database WITH (FORCE)" postgres &&
        sql_postgresql 'CREATE DATABASE restored OWNER tester' postgres &&
        "$(postgresql_program pg_restore)" --exit-on-error \
            -h "$ROWLOCK_TEST_FOLDER/$name_postgresql" -p "$port_postgresql" -U postgres \
            -d restored "$1" &&
        sql_postgresql "ALTER DATABASE restored RENAME TO $database" postgres
}
reopen_mariadb() { # DUMP
    sql_mariadb "DROP DATABASE $database; CREATE DATABASE $database CHARACTER SET utf8mb4" mysql &&
        mariadb --no-defaults --socket="$ROWLOCK_TEST_FOLDER/$name_mariadb/socket" -u root \
            "$database" <"$1" &&
        lock_accounts UNLOCK
}
restore_dump() {
    log_undone invoke
    "dump_$engine" >"$cell_folder/data/dump" || return 1
    draw 1500
    nap_ms "$drawn"
    "close_$engine" || return 1
    nap 0.3
    log_undone ok
    "reopen_$engine" "$cell_folder/data/dump"
}

# ---- a full disk -------------------------------------------------------------------------------

# The server that is started next has its data on a small file system of its own.
use_disk() {
    local folder user=postgres name=name_$engine
    [ "$engine" = postgresql ] || user=mysql
    user=$(server_user $user)
    folder=$(server_folder "${!name}" "$user") && make_template "$engine" "$user" &&
        mkdir "$folder/data" &&
        mount -t tmpfs -o "size=250m,mode=700,uid=$(id -u "$user"),gid=$(id -g "$user")" \
            rowlock-torture "$folder/data" &&
        disk=$folder/data &&
        cp -a "$ROWLOCK_TEST_FOLDER/template/$engine/." "$disk"
}
# It has no room for a while. On PostgreSQL sometimes the log needs room at once, and the server
# ends: an operator starts it again.
fill_disk() {
    cat /dev/zero >"$disk/filler" # until no room is left
    draw 2
    [ "$engine" != postgresql ] || [ "$drawn" = 0 ] ||
        sql_postgresql 'SELECT pg_switch_wal()' postgres >/dev/null
    draw 1500
    nap_ms "$drawn"
    rm -f "$disk/filler"
    revive_engine
}
revive_engine() {
    local tries=0
    until "sql_$engine" 'SELECT 1' >/dev/null; do
        is_running "$(cat "${disk%/data}/pid")" || start_engine "$engine"
        [ $((tries += 1)) -lt 200 ] || return 1
        nap 0.05
    done
}

# ---- dead rows ---------------------------------------------------------------------------------

dead_rows=20000 # of each table, for each fault
# Autovacuum leaves the tables alone, and a snapshot of the superuser's sees every row of now, so
# that no session can remove a row that is deleted from now on.
stop_vacuum() {
    local name
    for name in $(sql_postgresql "SELECT relname FROM pg_class
        WHERE relnamespace = 'rowlock'::regnamespace AND relkind = 'r'"); do
        sql_postgresql "ALTER TABLE rowlock.$name SET (autovacuum_enabled = false)" || return 1
    done
    hold_snapshot
}
hold_snapshot() {
    local tries=0
    PGAPPNAME=snapshot sql_postgresql 'BEGIN ISOLATION LEVEL REPEATABLE READ;
        SELECT count(*) FROM rowlock.lease; SELECT pg_sleep(86400)' >/dev/null 2>&1 &
    until [ "$(sql_postgresql "SELECT wait_event FROM pg_stat_activity
        WHERE application_name = 'snapshot'")" = PgSleep ]; do
        [ $((tries += 1)) -lt 200 ] || return 1
        nap 0.05
    done
}
end_snapshot() {
    sql_postgresql "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
        WHERE application_name = 'snapshot'" >/dev/null
}
# Rows and tickets of the clients' names, before all others, which existed in one transaction. A
# search for the row of a name meets those in front of it.
add_dead_rows() {
    local least=$((-dead_rows * faults)) name series
    case $workload in
    *gapless) name=counter: ;;
    *jobs) name=job: ;;
    refresh) name=subject: ;;
    esac
    series="generate_series($least, $((least + dead_rows - 1))) i"
    sql_postgresql "WITH place AS MATERIALIZED (
            SELECT k, coalesce((SELECT min(l.n) FROM rowlock.lease l
                                 WHERE l.name = '${name:-}torture ' || k AND l.n <= 0), 0) AS n
              FROM generate_series(0, 4) k)
        INSERT INTO rowlock.lease (name, n, token, mode, expires, acquired)
        SELECT '${name:-}torture ' || p.k, p.n + i, i, 'dead', '-infinity', 'infinity'
          FROM $series JOIN place p ON p.k = -i % 5;
        INSERT INTO rowlock.waiter (ticket, name, mode)
        SELECT i, '${name:-}torture ' || -i % 5, 'dead' FROM $series;
        DELETE FROM rowlock.lease WHERE mode = 'dead';
        DELETE FROM rowlock.waiter WHERE mode = 'dead'"
}
remove_dead_rows() { end_snapshot && sql_postgresql VACUUM && hold_snapshot; }

# ---- the next version of the schema -------------------------------------------------------------

# The clients are programs of either version. The version's number is set back, so that the next
# fault upgrades the same schema again.
upgrade_schema() {
    local meta=rowlock_meta
    [ "$engine" != postgresql ] || meta=rowlock.meta
    if [ "$engine" = sqlite ] && [ "$faults" -gt 1 ]; then # its ALTER TABLE cannot be repeated
        faults=1
        return
    fi
    "$BUILD/next/rowlock" --db "$url" schema upgrade >/dev/null &&
        "sql_$engine" "UPDATE $meta SET version = 1"
}
