#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The database goes away while rowlock waits in the queue, and comes back, or has no free session:
# the test stops and restarts a server of its own.
# Runs on: postgresql/native mariadb/row
# Quick: postgresql/native

load lib
load run.bash
load own_server.bash
load terminal.bash

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    is_up || start_own
}
teardown() { # a test that failed must not leave a full server to the next one, which would wait
    [ -z "${refused:-}" ] || empty
    end_started
}
is_up() { rowlock ls >/dev/null 2>&1; }
is_said() { [ "$(grep -c "^rowlock: the database is unreachable, waiting for it: " err)" = "$1" ]; }

# Acquired without a process, so that only rows of it exist.
held() { token=$(rowlock acquire --ttl 10m "$1"); }

are_waiting() { [ "$(rowlock ls "$1" | grep -c ' waiting ')" = "$2" ]; }

# The measure of time is another waiter, whose -w is longer than a try or an attempt to connect may
# take.
@test "a waiter in the queue waits while the database is away, reports it once, and gets the lock" {
    held a
    start_leased a -- touch ran
    waiting=("$started")
    start_leased -w 5m a -- touch ran-limited
    waiting+=("$started")
    start_leased --ttl 10m -s mine -- "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run -s mine a -- \
        touch ran-beneath
    waiting+=("$started")
    start_rowlock acquire -w 16 --ttl 60s a
    measure=$started
    until_true are_waiting a 4
    stop_server "$own"
    ends_with 69 "$measure"
    start_own
    until_true are_waiting a 3
    rowlock release a --token "$token"
    for pid in "${waiting[@]}"; do ends_with 0 "$pid"; done
    cat err
    is_said 4
    [ -e ran ] && [ -e ran-limited ] && [ -e ran-beneath ]
}

@test "the same for a waiter in the server's own queue, behind a transaction" {
    for how in "" KILL; do
        : >err
        hold "e$how"
        start_leased "e$how" -- touch "ran$how"
        waiting=$started
        until_true somebody_waits
        stop_server "$own" $how
        until_true is_said 1
        ends_with 123 "$holder"
        until_true start_own
        ends_with 0 "$waiting"
        cat err
        is_said 1
        [ -e "ran$how" ]
    done
}

# A standby that admits no client gives the same answer as a starting server (57P03), for as long as
# the test wants.
rejects() {
    [ "$("$(postgresql_program pg_isready)" -h "$folder" -p "$port")" \
        = "$folder:$port - rejecting connections" ]
}
has_rejected_us() { tail -n +"$lines" "$folder/log" | grep -q ' test_own FATAL: '; }

@test "a server that is starting up counts as away" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0 # MariaDB does not listen before it is ready
    folder=$ROWLOCK_TEST_FOLDER/$own port=$(cat "$ROWLOCK_TEST_FOLDER/$own/port")
    held d
    start_leased d -- touch ran
    waiting=$started
    until_true are_waiting d 1
    stop_server "$own"
    lines=$(($(wc -l <"$folder/log") + 1))
    as_postgresql touch "$folder/data/standby.signal"
    launch "$(server_user postgres)" "$folder" "$(postgresql_program postgres)" -D "$folder/data" \
        -p "$port" \
        -c listen_addresses=127.0.0.1 -c unix_socket_directories="$folder" -c hot_standby=off \
        -c log_line_prefix='%m [%p] %q%d '
    until_true rejects
    until_true has_rejected_us
    stop_server "$own"
    as_postgresql rm "$folder/data/standby.signal"
    start_postgresql "$own"
    until_true are_waiting d 1
    is_said 1
    rowlock release d --token "$token"
    ends_with 0 "$waiting"
    [ -e ran ]
}

@test "-w limits the wait, and -n does not wait for a database" {
    held c
    start_rowlock acquire -w 10m --ttl 60s c
    long=$started
    start_rowlock acquire -w 15 --ttl 60s c # long enough to queue on a busy machine
    short=$started
    until_true are_waiting c 2
    stop_server "$own"
    ends_with 69 "$short"
    run -69 "$ROWLOCK" --db "$ROWLOCK_TEST_URL" acquire -n --ttl 60s c
    [[ $output != *"waiting for it"* ]]
    run -69 "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run c -- true
    ! is_gone "$long" || false
    end_by_term "$long"
}

# The administrator may still have a session. MariaDB counts from the limit on.
fill() {
    case $ROWLOCK_TEST_ENGINE in
    postgresql) sql 'ALTER DATABASE test_own CONNECTION LIMIT 0' ;;
    mariadb)
        sql "ALTER USER rowlock@'%' WITH MAX_USER_CONNECTIONS 1"
        start mariadb --no-defaults -h 127.0.0.1 -P "$(cat "$ROWLOCK_TEST_FOLDER/$own/port")" \
            -u rowlock --password="$password" -e 'SELECT SLEEP(1000)'
        until_true sleeps
        ;;
    esac
    refused=$(refusals)
}
sleeper() { sql "SELECT id FROM $processlist WHERE info LIKE 'SELECT SLEEP%'"; }
sleeps() { [ -n "$(sleeper)" ]; }
empty() {
    case $ROWLOCK_TEST_ENGINE in
    postgresql) sql 'ALTER DATABASE test_own CONNECTION LIMIT -1' ;;
    mariadb)
        sql "ALTER USER rowlock@'%' WITH MAX_USER_CONNECTIONS 0"
        sql "KILL $(sleeper)"
        ;;
    esac
    refused=
}
refusals() {
    case $ROWLOCK_TEST_ENGINE in
    postgresql) grep -c 'too many connections for' "$own_log" || true ;;
    mariadb) sql "SHOW GLOBAL STATUS LIKE 'Aborted_connects'" | cut -f 2 ;;
    esac
}
were_refused() { [ "$(refusals)" -ge $((refused + $1)) ]; }
is_full() { [ "$(grep -c "^rowlock: the database has no free session, waiting" err)" = 1 ]; }
tells_it_is_full() { until_true is_full || { cat err; return 1; }; }

@test "a server without a free session is busy: -n waits for one too" {
    fill
    start_leased -n f -- touch ran-n
    tries=$started
    until_true were_refused 2
    empty
    ends_with 0 "$tries"
    [ -e ran-n ]
    fill
    start_leased g -- touch ran
    waits=$started
    run -69 "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run -n h -- touch ran-h
    [[ $output == *"; no session is free: end idle ones, raise the limit, or use a pooler ("* ]]
    tells_it_is_full
    empty
    ends_with 0 "$waits"
    [ -e ran ] && [ ! -e ran-h ]
}

@test "a server that does not answer, and then has no free session: it reports both" {
    local server
    server=$(cat "$ROWLOCK_TEST_FOLDER/$own/pid")
    : >err
    fill
    kill -s STOP "$server"
    start_leased -w 5m k -- touch ran
    until_true is_said 1 || { kill -s CONT "$server" && return 1; }
    kill -s CONT "$server"
    tells_it_is_full
    empty
    ends_with 0 "$started"
    is_said 1 && [ -e ran ]
}

@test "a server without a free session is busy by ODBC and JDBC too" {
    ! is_mysql || skip "MySQL by ODBC and JDBC was not tested"
    export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" # it cannot read the memory of a JVM
    fill
    for transport in odbc jdbc; do
        "$ROWLOCK" --version | grep -q "^drivers:.* $transport\b" || continue
        : >err
        start "$ROWLOCK" --db "$(transport_url "$ROWLOCK_TEST_ENGINE" $transport \
            "$ROWLOCK_TEST_URL")" run -w 300 i -- true
        tells_it_is_full
        end_by_term "$started"
    done
    empty
}

# One session takes all entries of the server's table of locks, and keeps them until its input ends.
# Before that it has a table that every rowlock reads after it has connected, until the error.
start_filler() {
    mkfifo locks
    psql -qXAt "$ROWLOCK_TEST_ADMIN" <locks >filled 2>&1 &
    filler=$!
    exec 6>locks
    echo "BEGIN; LOCK TABLE rowlock.meta; SELECT 'locked';" >&6
    until_true grep -q locked filled
}
end_filler() {
    echo '\q' >&6 # others have its input open too
    exec 6>&-
    wait "$filler"
}
# Twice, because the first error ends the transaction, which had entries too.
fill_locks() {
    local all='SELECT count(pg_advisory_lock(i)) FROM generate_series(1, 1000000) i;'
    echo "$all ROLLBACK; $all" >&6
}
are_locks_filled() { [ "$(grep -c 'ERROR:  out of shared memory' filled)" = 2 ]; }
# The session that rowlock has opened last.
backend() {
    sql "SELECT pid FROM pg_stat_activity WHERE usename = 'tester' AND datname = 'test_own'
         ORDER BY backend_start DESC LIMIT 1"
}
blocked() { sql "SELECT pid FROM pg_locks WHERE NOT granted"; }
waits_for_locks() { [ "$(blocked | wc -l)" = "$1" ]; }
# Others may have released entries meanwhile. One that waits for a lease already needs none.
lacked_locks() { # BACKEND...: one of them
    fill_locks
    for backend; do
        ! grep -q "\[$backend\] .*ERROR:  out of shared memory" "$own_log" || return 0
    done
    return 1
}
lack_locks() { # COUNT of those that could not connect
    fill_locks
    [ "$(grep -c '^rowlock: the database has no memory left, waiting for it: ' err)" = "$1" ]
}

@test "a server whose table of locks is full is busy: waits and releases repeat" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0 # InnoDB has no such limit
    stop_server "$own"
    start_own -c max_locks_per_transaction=10 -c max_connections=15 -c autovacuum=off
    : >err
    start_stoppable --ttl 10m held
    releases=$holder backends=("$(backend)")
    start_filler
    fill_locks
    until_true are_locks_filled
    touch stop
    until_true lacked_locks "${backends[@]}"
    start_leased -w 5m new -- touch ran-new
    waiting=("$started")
    start_leased --tx -w 300 new-tx -- touch ran-new-tx
    waiting+=("$started")
    until_true lack_locks 2
    end_filler
    ends_with 4 "$releases"
    for pid in "${waiting[@]}"; do ends_with 0 "$pid"; done
    ! grep 'will now expire' err || false
    [ -e ran-new ] && [ -e ran-new-tx ]
}

@test "the same for waiters that have a session" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    held a
    token_of_tx=$(rowlock acquire --ttl 10m tx)
    start_filler
    start_leased -w 5m a -- touch ran
    waiting=("$started")
    until_true waits_for_locks 1
    start_leased --tx -w 300 tx -- touch ran-tx
    waiting+=("$started")
    until_true waits_for_locks 2
    mapfile -t backends < <(blocked)
    until_true lacked_locks "${backends[@]}"
    end_filler
    rowlock release a --token "$token"
    rowlock release tx --token "$token_of_tx"
    for pid in "${waiting[@]}"; do ends_with 0 "$pid"; done
    [ -e ran ] && [ -e ran-tx ]
    stop_server "$own"
    start_own
}

top_shows() { tail -c 4000 screen | grep -aq -- "$1"; }
@test "top reports that the database is away, with the age of the data, and continues" {
    held a
    TERM=xterm at_terminal \
        "stty rows 20 cols 200; exec '$ROWLOCK' --db '$ROWLOCK_TEST_URL' top --interval 500ms"
    until_true top_shows 'a  *.*held'
    stop_server "$own"
    until_true top_shows 'data of [0-9]*m*s ago: '
    start_own
    held later
    until_true top_shows 'later  *.*held'
    type_in q
    ends_with 0 "$terminal"
    exec 5>&-
    rowlock break --now a
    rowlock break --now later
}
