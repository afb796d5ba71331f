# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# How far one PostgreSQL carries a farm (docs/scale.md), sourced by bench/parts/run: callers that
# wait, directly and through PgBouncer; leases that are held and renewed; processes of cron; the
# start of a command.
#
# Variables: SESSIONS=1000 (callers with a session each), WAITERS="1000 5000" (through PgBouncer),
# POOL=20 (server sessions of PgBouncer), HELD=100000, CRONS=200, CRON_MINUTES=3

family_ms() { # PID: the CPU time of a process and its children, those that ended too
    cat /proc/[0-9]*/stat 2>/dev/null | sed 's/(.*)/()/' |
        awk -v pid="$1" -v tick="$(getconf CLK_TCK)" '
            $1 == pid { sum += $14 + $15 + $16 + $17 } $4 == pid { sum += $14 + $15 }
            END { printf "%d\n", sum * 1000 / tick }'
}
# Waits until the sessions of the last measurement have ended, and their time is their parent's.
settle() {
    until [ "$(psql -qXAt "$scale_url" -c "SELECT count(*) FROM pg_stat_activity
        WHERE backend_type = 'client backend'")" = 1 ]; do sleep 0.2; done
    sleep 1
}
transactions() {
    psql -qXAt "$scale_url" \
        -c "SELECT pg_stat_clear_snapshot(), xact_commit + xact_rollback FROM pg_stat_database
            WHERE datname = 'bench'" | cut -d'|' -f2
}
# SECONDS WHAT: what the server does in that time, by transactions and CPU
observe() {
    local sent used
    sent=$(transactions) used=$(family_ms "$scale_pid")
    sleep "$1"
    sent=$(($(transactions) - sent)) used=$(($(family_ms "$scale_pid") - used))
    awk -v what="$2" -v seconds="$1" -v sent="$sent" -v used="$used" 'BEGIN {
        printf "%s: %.0f transactions a second, %.1f %% of a processor\n", what, sent / seconds,
            used / seconds / 10 }'
}
crowd() { # URL N WHAT
    local in=$ROWLOCK_TEST_FOLDER/crowd.in out=$ROWLOCK_TEST_FOLDER/crowd.out pid
    rm -f "$in"
    mkfifo "$in"
    "$BUILD"/bench/parts/scale wait "$1" "$2" <"$in" >"$out" &
    pid=$!
    exec 5>"$in"
    until grep -q wait "$out"; do
        is_running "$pid" || { echo "$2 callers $3: failed"; exec 5>&-; return; }
        sleep 0.2
    done
    sed "s/^/$3: /" "$out"
    sleep 10
    observe 30 "$3: $2 callers wait"
    observe_pooler
    echo >&5
    wait "$pid" || echo "failed"
    exec 5>&-
    sed "1d; s/^/$3: /" "$out"
}
observe_pooler() {
    [ -n "${pooler_pid:-}" ] || return 0
    echo "PgBouncer: $(awk '/^VmRSS/ { print int($2 / 1024) }' "/proc/$pooler_pid/status") MiB"
}
held() { # N
    local in=$ROWLOCK_TEST_FOLDER/held.in out=$ROWLOCK_TEST_FOLDER/held.out pid used began what
    mkfifo "$in"
    settle
    used=$(family_ms "$scale_pid")
    "$BUILD"/bench/parts/scale hold "$scale_url" "$1" <"$in" >"$out" &
    pid=$!
    exec 5>"$in"
    until [ "$(grep -c renewed "$out")" = 5 ] || ! is_running "$pid"; do sleep 0.2; done
    cat "$out"
    echo "the server used $((($(family_ms "$scale_pid") - used) / 1000)) s of a processor for all"
    psql -qXAt "$scale_url" -c "SELECT 'the tables have ' || pg_size_pretty(sum(
        pg_total_relation_size(oid))) FROM pg_class WHERE relkind = 'r'
        AND relnamespace = 'rowlock'::regnamespace"
    for what in "ls scale:0:0" "ls" "top" "doctor"; do
        began=${EPOCHREALTIME/./}
        # shellcheck disable=SC2086
        "$BUILD"/rowlock --db "$scale_url" $what >"$ROWLOCK_TEST_FOLDER/shown" 2>&1 || true
        echo "rowlock $what: $(((${EPOCHREALTIME/./} - began) / 1000)) ms," \
            "$(wc -l <"$ROWLOCK_TEST_FOLDER/shown") lines"
    done
    exec 5>&-
    wait "$pid" || echo "failed"
}
crons() { # N MINUTES: so many processes with one table of ten jobs, each due every ten seconds
    local i pids=() tab=$ROWLOCK_TEST_FOLDER/tab
    for i in {1..10}; do echo "every 10s scale-$i -- true"; done >"$tab"
    for ((i = 0; i < $1; i++)); do
        "$BUILD"/rowlock --db "$scale_url" cron "$tab" >/dev/null 2>&1 &
        pids+=($!)
    done
    sleep 60 # until the last one has asked
    observe $(($2 * 60)) "$1 processes of cron, 10 jobs every 10 s"
    psql -qXAt "$scale_url" -c "SELECT count(*) || ' runs, ' || count(DISTINCT (job, due)) ||
        ' due times, of at least ' || count(DISTINCT node) || ' nodes; started after it by ' ||
        percentile_cont(0.5) WITHIN GROUP (ORDER BY started - due) || ' ms, at most ' ||
        max(started - due) || ' ms' FROM rowlock.run
        WHERE started > 1000 * extract(epoch FROM now() - interval '$2 min')"
    kill "${pids[@]}"
    wait "${pids[@]}" 2>/dev/null || true
}
start_server_of_scale() { # NAME OPTION...: a server with a database; sets scale_url, scale_pid
    start_postgresql "$1" -c jit=on -c max_connections=1100 -c fsync=on -c full_page_writes=on \
        -c shared_buffers=1GB -c max_wal_size=4GB "${@:2}"
    scale_pid=$server_pid
    createdb -h "$server_socket" -p "$server_port" -U postgres -O tester bench
    scale_url=${server_url}bench
    "$BUILD"/rowlock --db "$scale_url" schema install >/dev/null
}

POOL=${POOL:-20}
start_server_of_scale bench-scale
echo "rowlock run x -- true: $(start_ms "$scale_url") ms (median)"
crowd "$scale_url" "${SESSIONS:-1000}" "a session each"
start_pooler bench-pooler "$scale_url"
pooler_pid=$server_pid
echo "rowlock run x -- true through PgBouncer: $(start_ms "$server_url") ms"
for number in ${WAITERS:-1000 5000}; do
    crowd "$server_url" "$number" "PgBouncer, $POOL sessions"
done
stop_pooler bench-pooler
unset pooler_pid
held "${HELD:-100000}"
crons "${CRONS:-200}" "${CRON_MINUTES:-3}"
stop_server bench-scale
start_server_of_scale bench-preload -c shared_preload_libraries=plpgsql
echo "rowlock run x -- true with shared_preload_libraries: $(start_ms "$scale_url") ms"
stop_server bench-preload
