# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# The clients of a cell and its faults. inject_FAULT causes one fault; faults counts them. It sets
# unfit to 1 if the cell cannot continue.

# wakes: until when a client's process, stopped, is stopped, in ms; 0: it runs
client_pid=() client_id=() wakes=() stopped=() stops=()
next_client=1
exec {idle}<> <(:) # never readable

nap() { read -rt "$1" -u "$idle" || :; } # SECONDS, without a process
nap_ms() { nap "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))"; }
now_ms() { echo "$((${EPOCHREALTIME/./} / 1000))"; }
draw() { drawn=$((RANDOM % $1)); } # N: sets drawn, from 0 to N - 1; a subshell would repeat it

start_client() { # PLACE; beside an upgrade every second one is a program of the next version
    local program=$worker
    if [ "$fault" = upgrade ] && [ $(($1 % 2)) = 1 ]; then
        program=$BUILD/next/worker
        local -x ROWLOCK=$BUILD/next/rowlock
    fi
    "$program" run "$workload" $next_client "$SEED" "$cell_folder/data" \
        2>>"$cell_folder/data/errors" &
    client_pid[$1]=$! client_id[$1]=$next_client wakes[$1]=0
    next_client=$((next_client + 1))
}
# CLIENT OP PHASE KIND KEY [NUMBER]: an event of the runner's own. The boot clock is the monotonic
# one, except for a suspended machine. It has hundredths of a second; a completion is rounded up.
log_event() {
    local up rest
    read -r up rest </proc/uptime
    up=${up/./}
    [ "$3" = invoke ] || up=$((up + 1))
    echo "${up}0000000 $*" >>"$cell_folder/data/runner"
    : "$rest"
}
log_stop() { log_event "${client_id[$1]}" "${stops[$1]}" "$2" stopped 0; } # PLACE PHASE
log_undone() { log_event 0 "$faults" "$1" undone 0; } # PHASE
wake_client() { # PLACE
    [ "${wakes[$1]}" = 0 ] || {
        kill -s CONT "${stopped[$1]}" 2>/dev/null
        log_stop "$1" ok
        wakes[$1]=0
    }
}
# PLACE: sets target to a process of the client: itself, its program in another language, or one of
# the rowlock processes under it, but never their command
choose_process() {
    local parents=${client_pid[$1]} found=${client_pid[$1]}
    target=$found
    case $workload in
    command | cron | ways) ;;
    clients-*) found="$found $(pgrep -d ' ' -P "$parents")" parents= ;;
    *) return 0 ;;
    esac
    while [ -n "$parents" ] && parents=$(pgrep -d , -x rowlock -P "$parents"); do
        found="$found ${parents//,/ }"
    done
    # shellcheck disable=SC2206
    found=($found)
    draw ${#found[@]}
    target=${found[$drawn]}
}
wake_clients() { # that have been stopped for long enough
    local place now
    now=$(now_ms)
    for place in "${!wakes[@]}"; do
        [ "${wakes[$place]}" -gt "$now" ] || wake_client "$place"
    done
}
end_clients() { # SIGNAL: ends them and waits; sets hung, the number of those that did not end
    local place tries=0
    hung=0
    for place in "${!client_pid[@]}"; do
        wake_client "$place"
        kill -s "$1" "${client_pid[$place]}" 2>/dev/null
    done
    for place in "${!client_pid[@]}"; do
        while is_running "${client_pid[$place]}"; do
            nap 0.05
            # A signal between fork and exec is lost.
            [ $((tries % 100)) != 99 ] || kill -s "$1" "${client_pid[$place]}"
            if [ $((tries += 1)) = 1200 ]; then hung=$((hung + 1)); fi
            [ $tries -lt 1200 ] || kill -s KILL "${client_pid[$place]}"
        done
        wait "${client_pid[$place]}"
        case $? in 0 | 137 | 143) ;; *) crashed=$((crashed + 1)) ;; esac # 143: before its exec
    done 2>/dev/null
    client_pid=() client_id=() wakes=()
    while pgrep -f "$cell_folder/data" >/dev/null; do nap 0.05; done # `rowlock run` of killed ones
}

# ---- the proxy ---------------------------------------------------------------------------------

cutter_pid=
fault_of_cutter() { # WORD N [MS]
    armed=$((armed + 1))
    echo "$*" >&"$cuts"
}
start_cutter() { # ENGINE: changes the port in url
    local port port_of_server=port_$1 protocol=$1
    case $1 in mysql | tidb) protocol=mariadb ;; esac
    mkfifo "$cell_folder/cuts" "$cell_folder/port"
    "$BUILD/tests/torture/cutter" "${!port_of_server}" "$protocol" <"$cell_folder/cuts" \
        >"$cell_folder/port" &
    cutter_pid=$!
    exec {cuts}>"$cell_folder/cuts" {answers}<"$cell_folder/port"
    read -r port <&"$answers"
    armed=0
    url=${url/:${!port_of_server}/:$port}
    # the proxy does not know the messages with which libpq asks for encryption
    case $1-$technique in
    *-odbc | *-jdbc | mariadb-* | mysql-* | tidb-*) ;;
    *) url="$url?sslmode=disable&gssencmode=disable" ;;
    esac
}
stop_cutter() { # counts only its faults that have occurred
    local struck
    [ -n "$cutter_pid" ] || return 0
    echo end >&"$cuts" # a server that was started meanwhile has inherited the pipe
    read -r struck <&"$answers"
    faults=$((faults - armed + struck))
    exec {cuts}>&- {answers}<&-
    wait "$cutter_pid"
    cutter_pid=
    rm -f "$cell_folder/cuts" "$cell_folder/port"
}

# ---- the faults --------------------------------------------------------------------------------

# The pause before each fault, in ms: the least, and the most that is added to it at random.
pause_of() { # FAULT
    case $1 in
    crash | failover | async | restore) echo 1500 2500 ;;
    leader_* | cut_* | store_* | switchover) echo 3000 5000 ;;
    oneway | stall | half) echo 700 2000 ;;
    upgrade) echo 500 1500 ;;
    exhaust | hang | freeze | full) echo 500 1000 ;;
    clock) echo 200 1500 ;;
    stop) echo 200 500 ;;
    *) echo 50 400 ;;
    esac
}
inject_none() { faults=$((faults - 1)); }
inject_kill() {
    local place
    draw "$CLIENTS"
    place=$drawn
    wake_client "$place"
    choose_process "$place"
    kill -s KILL "$target" 2>/dev/null
    [ "$target" = "${client_pid[$place]}" ] || return 0
    wait "$target" 2>/dev/null
    [ $? = 137 ] || crashed=$((crashed + 1))
    stops[$place]=$faults
    log_stop "$place" invoke
    log_stop "$place" ok
    start_client "$place"
}
# For longer than a lease of TTL ms, or briefly; several clients may be stopped at once.
inject_stop() {
    local place long
    draw "$CLIENTS"
    place=$drawn
    [ "${wakes[$place]}" = 0 ] || return 0
    choose_process "$place"
    stopped[$place]=$target
    draw 4
    long=$drawn
    draw 1500
    [ "$long" = 0 ] || drawn=$((drawn + TTL + 300))
    kill -s STOP "$target" 2>/dev/null
    wakes[$place]=$(($(now_ms) + drawn)) stops[$place]=$faults
    log_stop "$place" invoke
}
inject_terminate() { "terminate_$engine" "$RANDOM" >/dev/null 2>&1; }
inject_cancel() { "cancel_$engine" "$RANDOM" >/dev/null 2>&1; }
inject_crash() { crash_engine "$engine"; }
choose() { # WORD WORD: sets chosen, to one of them
    draw 2
    chosen=$1
    [ "$drawn" = 0 ] || chosen=$2
}
inject_cut() { # between two messages, or inside one
    choose cut tear
    draw 40
    fault_of_cutter "$chosen" "$drawn"
}
inject_delay() { # sometimes for longer than a lease
    local message
    choose delay split
    draw 40
    message=$drawn
    draw 1500
    fault_of_cutter "$chosen" "$message" "$drawn"
}
inject_oneway() {
    draw 40
    fault_of_cutter oneway "$drawn"
}
inject_stall() {
    draw 40
    fault_of_cutter stall "$drawn"
}
inject_half() {
    draw 40
    fault_of_cutter half "$drawn"
}
inject_hang() { # sometimes for longer than a lease; not until the next fault of the proxy
    fault_of_cutter hang 0
    draw $((TTL * 3 / 2))
    nap_ms "$drawn"
    echo heal >&"$cuts"
}
inject_freeze() { # sometimes for longer than a lease
    draw $((TTL * 3 / 2))
    freeze_engine "$engine" "$drawn"
}
# All sessions that the server allows are taken for a while, and a client needs a new one.
inject_exhaust() {
    "$worker" exhaust "$workload" 0 "$RANDOM" "$cell_folder/data" \
        2>>"$cell_folder/data/errors" &
    nap 0.2
    inject_terminate
    wait $!
}
# A step is shorter than a period of the workload "jobs": after a longer step back, jobs are planned
# again by the new time, and due times occur again.
clock_ms=0
inject_clock() {
    local before=$clock_ms
    draw 2801
    clock_ms=$((drawn - 1400))
    log_event 0 "$faults" invoke step 0
    set_clock $clock_ms
    log_event 0 "$faults" ok step 0 $((clock_ms - before))
}
inject_upgrade() { change_server upgrade_schema; }
inject_failover() { change_server fail_over; }
inject_async() { change_server fail_over; }
inject_restore() { change_server restore_dump; }
inject_full() { change_server fill_disk; }
inject_vacuum() { # up to a million dead rows in each table, then none
    if [ $((faults % 51)) = 0 ]; then
        change_server remove_dead_rows
    else
        change_server add_dead_rows
    fi
}
change_server() { # COMMAND: words
    # shellcheck disable=SC2086
    $1 >"$cell_folder/data/change" 2>&1 && return
    cat "$cell_folder/data/change" >&2
    unfit=1
}
inject_mixed() {
    local choice
    # shellcheck disable=SC2207
    choice=($(mixed_of "$engine-$technique"))
    draw ${#choice[@]}
    "inject_${choice[$drawn]}"
}
