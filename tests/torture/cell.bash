# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# One cell of tests/torture/run: its database, its clients and faults, the judge.

# CELL: sets workload, fault, engine, technique, url (of the clients) and the tests' environment
open_cell() {
    local direct
    IFS=/ read -r workload fault engine <<<"$1"
    technique=${engine#*-} engine=${engine%%-*}
    if is_by_package "$workload"; then
        TORTURE_LANGUAGES=${workload%%-*}
        [ "$TORTURE_LANGUAGES" != clients ] || TORTURE_LANGUAGES=$LANGUAGES
        export TORTURE_LANGUAGES
        workload=clients-${workload#*-} # one of the worker's
    fi
    rm -rf "$cell_folder/data"
    mkdir "$cell_folder/data"
    ! has_own_server || stop_engines
    [ "$fault" != clock ] || use_clock
    [ "$fault" != full ] || use_disk || return 1
    case $fault/$engine in failover/mariadb | async/mariadb) replicate ;; esac
    is_started "$engine" || start_engine "$engine" || return 1
    "open_$engine" "torture_$((cells += 1))" || return 1
    case $engine in
    mysql | group) ROWLOCK_TEST_ENGINE=mariadb ;; # the driver is MariaDB's
    patroni) ROWLOCK_TEST_ENGINE=postgresql ;;
    *) ROWLOCK_TEST_ENGINE=$engine ;;
    esac
    case $technique in
    pool_* | strict | sync | relaxed) ROWLOCK_TEST_TECHNIQUE=native ;;
    eventual | failover) ROWLOCK_TEST_TECHNIQUE=row ;;
    *) ROWLOCK_TEST_TECHNIQUE=$technique ;;
    esac
    export ROWLOCK_TEST_ENGINE ROWLOCK_TEST_TECHNIQUE
    case $fault in failover | async) "open_pair_$engine" || return 1 ;; esac
    direct=$url
    case $fault in
    cut | delay | oneway | stall | half | hang | mixed)
        [ "$engine" = sqlite ] || start_cutter "$engine"
        ;;
    esac
    ROWLOCK_TEST_URL=$(url_of "$direct")
    export ROWLOCK_TEST_URL
    prepared_url=$ROWLOCK_TEST_URL
    "$worker" prepare "$workload" 0 "$SEED" "$cell_folder/data" \
        2>>"$cell_folder/data/errors" || { tail -n 3 "$cell_folder/data/errors" >&2; return 1; }
    case $technique in
    pool_*)
        start_pooler "$prefix-pooler" "${url%%\?*}" "${technique#pool_}" || return 1
        url=$server_url
        ;;
    esac
    ROWLOCK_TEST_URL=$(url_of "$url")
    [ "$fault" != vacuum ] || stop_vacuum
    ! is_cluster || { prove_cluster "$hold_url" && hold_through "$hold_url" "$hold_ttl"; }
}
cells=0
is_cluster() { case $engine in patroni | group) ;; *) return 1 ;; esac; }
has_own_server() {
    ! is_cluster || return 0
    case $fault in clock | failover | async | restore | full) ;; *) return 1 ;; esac
}
close_cell() {
    stop_cutter
    [ ! -e "$ROWLOCK_TEST_FOLDER/$prefix-pooler/pid" ] || stop_pooler "$prefix-pooler"
    if has_own_server; then
        stop_engines
        rm -f "$clock_file"
        server_environment=() server_options=()
        name_postgresql=$prefix-postgresql name_mariadb=$prefix-mariadb
    else
        drop_database "$engine"
    fi
}
url_of() { # URL: through the cell's transport
    case $technique in
    odbc | jdbc) transport_url "$engine" "$technique" "$1" ;;
    *) echo "$1" ;;
    esac
}

completed() { # operations so far
    cat "$cell_folder"/data/client.* | grep -cE ' ok (add|hold|read) '
}
is_untouched() { [ $faults = 0 ] && [ "$fault" != none ]; }
# OPERATIONS are not reached yet, but some succeed. Sets stalled if none did for STALL seconds. JVMs
# may need longer than the cell to start: there is at least one operation.
lacks_operations() {
    local now least=$OPERATIONS
    [ "$technique" != jdbc ] || [ "$least" -gt 0 ] || least=1
    [ "$least" -gt 0 ] || return 1
    now=$(completed)
    [ "$now" -lt "$least" ] || return 1
    [ "$now" = "$reached" ] || reached=$now risen=$SECONDS
    [ $((SECONDS - risen)) -lt "$STALL" ] || stalled=1
    [ $stalled = 0 ]
}
# Injects faults until the time has passed and there are enough operations; at least one.
torment() {
    local begun=$SECONDS least most reached=0 risen=$SECONDS
    read -r least most <<<"$(pause_of "$fault")"
    [ "$technique" != jdbc ] || least=$((least + 2000)) # a JVM takes as long to start
    while [ $((SECONDS - begun)) -lt "$SECONDS_EACH" ] || is_untouched || lacks_operations; do
        draw "$most"
        drawn=$((drawn + least))
        nap_ms $((drawn * PACE))
        faults=$((faults + 1))
        "inject_$fault"
        [ $unfit = 0 ] || return 1
        wake_clients
    done
    [ -z "$cutter_pid" ] || echo heal >&"$cuts" # a client may wait for a stalled connection
}
# Afterwards: is every name free, and does the judge accept the history? Sets verdict.
judge_cell() { # CELL
    local code=0
    ROWLOCK_TEST_URL=$prepared_url timeout "$SETTLE" "$worker" settle "$workload" 0 "$SEED" \
        "$cell_folder/data" 2>>"$cell_folder/data/errors" || unsettled=$?
    case $unsettled in 0 | 124) ;; *) return 1 ;; esac # 124: the limit
    rows_of "$engine" >"$cell_folder/data/final" || return 1
    "$BUILD/tests/torture/judge" "$cell_folder"/data/{client.*,runner,final} \
        >"$cell_folder/data/verdict" || code=$?
    [ $code -lt 2 ] || return 1
    verdict=$(tail -n 1 "$cell_folder/data/verdict")
    [ $((code + hung + crashed)) = 0 ] || keep_failure "$1"
}
# Without faults, waiters that are woken by hints acquire within a few milliseconds. Without hints
# they wait until they look again, or until the server checks for a deadlock (after 200 ms here).
# A request by SQL has no session lock. The next one looks again within 100 ms; the one behind it,
# which may become the next meanwhile, within 150 ms (wait_turn in request.sql).
# Calm: no session is disturbed, except by its own client.
log_promises() {
    : >"$cell_folder/data/runner"
    case $workload/$fault/$engine-$technique in
    */sqlite-* | */tidb-* | */*-odbc | */*-jdbc | */*-pool_transaction) ;;
    sql-requests/none/*) log_event 0 0 ok prompt 0 250 ;;
    */none/*) log_event 0 0 ok prompt 0 100 ;;
    esac
    case $fault in none | kill | stop) log_event 0 0 ok calm 0 ;; esac
}
# Programs work before, during and after an upgrade of the schema: none is refused. Sets refused. On
# MySQL a client of SQL may meet the moment in which a procedure is replaced.
find_refused() { # CELL
    refused=0
    [ "$fault" = upgrade ] || return 0
    case $1 in
    sql-*/mysql-*) grep -v ': 1305 PROCEDURE ' "$cell_folder/data/errors" ;;
    *) cat "$cell_folder/data/errors" ;;
    esac | grep -E "$refusals" >"$cell_folder/data/refused"
    sed "s|^|$1: |" "$cell_folder/data/refused" >&2
    refused=$(wc -l <"$cell_folder/data/refused")
}
refusals='(^| )(ESCHEMA|EDENIED|EMODE|ESERVER|EDB): |works with [0-9]+ to|denied|does not exist'
keep_failure() { # CELL
    head -n -1 "$cell_folder/data/verdict" | sed "s|^|$1: |" >&2
    rm -rf "$failed/${1//\//.}"
    cp -r "$cell_folder/data" "$failed/${1//\//.}"
}

run_cell() { # CELL: sets result
    local place code=0
    RANDOM=$((SEED % 32768)) faults=0 crashed=0 next_client=1 unfit=0 clock_ms=0
    stalled=0 unsettled=0 fallen=0 asleep=0
    open_cell "$1" || { close_cell; return 1; }
    log_promises
    for ((place = 0; place < CLIENTS; place++)); do start_client $place; done
    torment || code=1
    ! is_cluster || [ $code = 1 ] || see_resumption "$1"
    end_clients TERM
    stop_cutter
    ! is_cluster || end_held
    find_refused "$1"
    [ $code = 1 ] || judge_cell "$1" || code=1
    close_cell
    [ $code = 0 ] || return 1
    [ "$hung" = 0 ] || echo "$1: $hung clients did not end within a minute" >&2
    [ $crashed = 0 ] || echo "$1: $crashed clients ended by themselves" >&2
    result="cell=$1 seed=$SEED seconds=$SECONDS_EACH clients=$CLIENTS commit=$commit $(
        )date=$(date -u +%Y-%m-%d) faults=$faults hung=$hung ${verdict% violations=*} $(
        )violations=$((${verdict##*=} + hung + crashed + refused + fallen + asleep))"
    has_tested "$1"
}
# CELL: a cell without a violation proves something only if something has happened.
has_tested() {
    [ "${result##*=}" = 0 ] || return 0
    [ $unsettled = 0 ] || { echo "$1: its names were not examined in $SETTLE s" >&2; return 1; }
    [ $stalled = 0 ] || {
        echo "$1: no operation succeeded for $STALL s, before there were $OPERATIONS" >&2
        return 1
    }
    [[ $verdict != operations=0\ * ]] || { echo "$1: no operation was completed" >&2; return 1; }
    [ "$fault" = none ] || [ "$faults" -gt 0 ] || { echo "$1: no fault occurred" >&2; return 1; }
}
