# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# The machines of a cluster: network namespaces, joined by a bridge in a namespace of this run's own
# (tests/torture/run), where the clients are. A machine is all processes of its namespace, so it can
# be killed, frozen and cut off. Nothing of it is left when the run has ended.

network=10.77.0
declare -A keeper=() # of each machine: the process that keeps its namespace
held_pid=            # of the lease that must survive every fault

address_of() { echo "$network.$1"; } # MACHINE: 1 to 9; 254 is the clients'
start_network() { # MACHINE...
    local machine
    ip link set lo up
    ip link add bridge type bridge && ip addr add "$network.254/24" dev bridge || return 1
    ip link set bridge up
    for machine in "$@"; do
        unshare --net -- sleep 86400 </dev/null >/dev/null 2>&1 &
        keeper[$machine]=$!
        until [ "$(readlink "/proc/$!/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do
            nap 0.01
        done
        ip link add "port$machine" type veth peer name eth0 netns $! &&
            ip link set "port$machine" master bridge up &&
            inside "$machine" ip link set lo up &&
            inside "$machine" ip addr add "$network.$machine/24" dev eth0 &&
            inside "$machine" ip link set eth0 up || return 1
    done
}
inside() { nsenter --net="/proc/${keeper[$1]}/ns/net" -- "${@:2}"; } # MACHINE COMMAND...
launch_in() { # MACHINE USER NAME COMMAND...: a server of that name
    local server_wrapper=(nsenter --net="/proc/${keeper[$1]}/ns/net" --)
    launch "$2" "$ROWLOCK_TEST_FOLDER/$3" "${@:4}"
}
processes_of() { # MACHINE
    local space file
    space=$(readlink "/proc/${keeper[$1]}/ns/net") || return 0 # the keeper is dead
    for file in /proc/[0-9]*; do
        [ "$(readlink "$file/ns/net")" != "$space" ] ||
            [ "${file#/proc/}" = "${keeper[$1]}" ] || echo "${file#/proc/}"
    done 2>/dev/null
}
signal_machine() { # SIGNAL MACHINE
    local pids
    pids=$(processes_of "$2")
    # shellcheck disable=SC2086
    [ -z "$pids" ] || kill -s "$1" $pids 2>/dev/null
}
kill_machine() { # MACHINE; without the message of the shell that started them
    while [ -n "$(processes_of "$1")" ]; do
        signal_machine KILL "$1"
        nap 0.05
    done
} 2>/dev/null
stop_network() {
    local machine
    stop_manager
    for machine in "${!keeper[@]}"; do
        kill_machine "$machine"
        kill -s KILL "${keeper[$machine]}"
        wait "${keeper[$machine]}" 2>/dev/null
    done
    keeper=()
    ip link del bridge 2>/dev/null || :
}

stop_manager() { :; } # of an address, where a cluster has one

# A cut: neither machine finds the other's network card, so packets vanish without an error.
nowhere=02:00:00:00:00:01
neighbour() { # MACHINE OTHER VERB [OPTION...]
    local device=eth0 command=(inside "$1")
    [ "$1" != 254 ] || device=bridge command=()
    "${command[@]}" ip neigh "$3" "$(address_of "$2")" "${@:4}" dev $device
}
cut() { # MACHINE OTHER...
    local other
    for other in "${@:2}"; do
        [ "$other" != "$1" ] || continue
        neighbour "$1" "$other" replace lladdr $nowhere nud permanent
        neighbour "$other" "$1" replace lladdr $nowhere nud permanent
    done
}
heal() { # MACHINE OTHER...
    local other
    for other in "${@:2}"; do
        [ "$other" != "$1" ] || continue
        neighbour "$1" "$other" del
        neighbour "$other" "$1" del
    done 2>/dev/null
}

# ---- the faults that every cluster can have ----------------------------------------------------

# Repeats the command until it succeeds.
until_it() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    until "${@:2}" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || { echo "after $1 s still not: ${*:2}"; return 1; }
        nap 0.3
    done
}
log_outage() { log_event 0 "$faults" "$1" outage 0; } # PHASE
# COMMAND: does something to the primary, which is in $primary. Afterwards the cluster is whole.
disturb() {
    primary=$("primary_of_$engine") && [ -n "$primary" ] || { echo 'no primary' >&2; return 1; }
    log_outage invoke
    "$1" && until_it 180 "is_whole_$engine" || { "explain_$engine" >&2; return 1; }
    log_outage ok
}
rest_ms() { # LEAST MOST: in seconds
    draw $((($2 - $1) * 1000))
    nap_ms $(($1 * 1000 + drawn))
}
others() { # the machines but the primary
    local machine
    for machine in 1 2 3; do [ "$machine" = "$primary" ] || echo "$machine"; done
}
has_moved() {
    local now
    now=$("primary_of_$engine") && [ -n "$now" ] && [ "$now" != "$primary" ] &&
        "accepts_writes_$engine"
}
kill_it() {
    kill_machine "$primary"
    until_it 120 has_moved && "start_machine_$engine" "$primary"
}
freeze_it() { # sometimes until just after another one has its place
    signal_machine STOP "$primary"
    rest_ms 20 45
    signal_machine CONT "$primary"
}
# shellcheck disable=SC2046
cut_it_off() {
    cut "$primary" $(others) "${!keeper[@]}" 254
    rest_ms 25 60
    heal "$primary" $(others) "${!keeper[@]}" 254
}
cut_its_clients() { # until the server has noticed it: after 40 s, it ends their transactions
    cut "$primary" 254
    rest_ms 25 50
    heal "$primary" 254
}
# shellcheck disable=SC2046
cut_its_standbys() {
    cut "$primary" $(others)
    rest_ms 25 90
    heal "$primary" $(others)
}
cut_its_store() {
    cut "$primary" 9
    rest_ms 25 60
    heal "$primary" 9
}
pause_store() {
    signal_machine STOP 9
    rest_ms 5 50
    signal_machine CONT 9
}
inject_leader_killed() { change_server 'disturb kill_it'; }
inject_leader_frozen() { change_server 'disturb freeze_it'; }
inject_cut_off() { change_server 'disturb cut_it_off'; }
inject_cut_clients() { change_server 'disturb cut_its_clients'; }
inject_cut_standbys() { change_server 'disturb cut_its_standbys'; }
inject_cut_store() { change_server 'disturb cut_its_store'; }
inject_store_paused() { change_server 'disturb pause_store'; }
inject_switchover() { change_server 'disturb switch_over'; }
switch_over() { "switch_over_$engine" && until_it 120 has_moved; }

# CELL: after the last fault the clients continue by themselves. Sets asleep to 1 if not.
see_resumption() {
    local before
    before=$(completed)
    until_it 60 has_completed $((before + 5)) && return
    asleep=1
    echo "$1: no client acquired a lease within 60 s after the last fault" >&2
}
has_completed() { [ "$(completed)" -ge "$1" ]; } # N

# ---- a lease with the ttl that docs/clusters.md recommends -------------------------------------

# Two sessions of the clients exclude each other: the proof of `schema install`, and of `doctor`.
prove_cluster() { # URL
    "$ROWLOCK" --db "$1" schema install >"$cell_folder/data/proof" 2>&1 &&
        "$ROWLOCK" --db "$1" doctor --only self-test >>"$cell_folder/data/proof" 2>&1 &&
        grep -q '^ok *self-test' "$cell_folder/data/proof" && return
    cat "$cell_folder/data/proof" >&2
    return 1
}
# It must be held through every fault: the holder's `rowlock run` continues.
hold_through() { # URL TTL
    "$ROWLOCK" --db "$1" run --ttl "$2" --wait 60s 'held through' -- sleep 86400 \
        >"$cell_folder/data/held" 2>&1 &
    held_pid=$!
}
# Sets fallen to 1 if it was lost.
end_held() {
    fallen=0
    [ -n "$held_pid" ] || return 0
    is_running "$held_pid" || { fallen=1; sed 's/^/held through: /' "$cell_folder/data/held" >&2; }
    kill -s TERM "$held_pid" 2>/dev/null
    wait "$held_pid" 2>/dev/null
    held_pid=
}
