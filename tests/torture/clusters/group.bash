# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# MySQL Group Replication with one primary, on machines 1 to 3. The clients know one address, which
# a fail-over manager moves to the primary (watch_group). Technique "eventual" has the weakest
# settings, "failover" those of docs/clusters.md; else MySQL's defaults.

name_group=$prefix-group
group_ttl=65s # docs/clusters.md
group_address=$network.100
manager_pid=

start_group() {
    local machine seeds
    [ -x "$mysql_bin/mysqld" ] || tools/get-mysql "${mysql_bin%/bin}" || return
    start_network 1 2 3 || return 1
    # as docs/operation.md advises, but sooner: MySQL itself has no such setting
    for machine in 1 2 3; do
        inside "$machine" sh -c 'cd /proc/sys/net/ipv4 && echo 5 >tcp_keepalive_time &&
            echo 2 >tcp_keepalive_intvl && echo 3 >tcp_keepalive_probes && echo 6 >tcp_retries2' ||
            return 1
    done
    seeds=$network.1:33061,$network.2:33061,$network.3:33061
    group_options=(--bind-address=0.0.0.0 --gtid-mode=ON --enforce-gtid-consistency=ON --log-bin=log
        --log-bin-trust-function-creators=ON --plugin-load-add=group_replication.so
        --group-replication-group-name=5f2f3cf2-8b2b-4c1e-9d0c-000000000001
        --group-replication-group-seeds="$seeds" --group-replication-start-on-boot=OFF
        --group-replication-recovery-get-public-key=ON --sql-generate-invisible-primary-key=ON)
    case $technique in
    eventual) group_options+=(--group-replication-consistency=EVENTUAL) ;;
    failover)
        group_options+=(--group-replication-consistency=BEFORE_ON_PRIMARY_FAILOVER
            --group-replication-unreachable-majority-timeout=10
            --group-replication-autorejoin-tries=0
            --group-replication-exit-state-action=OFFLINE_MODE)
        ;;
    esac
    for machine in 1 2 3; do start_machine_group $machine || return 1; done
    until_it 120 is_whole_group || { explain_group; return 1; }
    server_port=3306 server_url=
}
start_machine_group() { # MACHINE: 1 begins the group, if it is new
    local user folder new=
    user=$(server_user mysql)
    folder=$(server_folder "$prefix-machine$1" "$user") || return 1
    if [ ! -e "$folder/data" ]; then
        new=1
        MYSQL_BIN=$mysql_bin copy_template mysql "$user" "$folder/data" || return 1
        rm -f "$folder/data/auto.cnf" # its UUID
    fi
    rm -f "$folder/socket.lock"
    server_port=3306
    launch_in "$1" "$user" "$prefix-machine$1" "$mysql_bin/mysqld" --no-defaults \
        --datadir="$folder/data" --tmpdir="$folder/tmp" --socket="$folder/socket" --port=3306 \
        --pid-file="$folder/mariadbd.pid" --skip-name-resolve --mysqlx=OFF --secure-file-priv=NULL \
        --innodb-buffer-pool-size=64M --innodb-flush-log-at-trx-commit=2 --max-connections=200 \
        --innodb-redo-log-capacity=16M --server-id="$1" --report-host="$network.$1" \
        --group-replication-local-address="$network.$1:33061" "${group_options[@]}"
    until_it 60 mysql_at "$1" 'SELECT 1' || { explain_group; return 1; }
    [ -z "$new" ] || mysql_at "$1" "SET sql_log_bin = 0; CREATE USER recovery@'%';
        GRANT REPLICATION SLAVE, BACKUP_ADMIN, CONNECTION_ADMIN ON *.* TO recovery@'%';
        SET sql_log_bin = 1; CHANGE REPLICATION SOURCE TO SOURCE_USER = 'recovery'
            FOR CHANNEL 'group_replication_recovery'" || return 1
    if [ -n "$new" ] && [ "$1" = 1 ]; then
        mysql_at 1 'SET GLOBAL group_replication_bootstrap_group = ON; START GROUP_REPLICATION;
            SET GLOBAL group_replication_bootstrap_group = OFF'
    else
        mysql_at "$1" 'START GROUP_REPLICATION' 60
    fi
}
# A socket in the file system passes every cut of the network. MACHINE SQL [SECONDS]
mysql_at() {
    timeout "${3:-5}" mariadb --no-defaults \
        --socket="$ROWLOCK_TEST_FOLDER/$prefix-machine$1/socket" -u root -NB -e "$2" "${@:4}"
}
explain_group() {
    local machine
    for machine in 1 2 3; do
        tail -n 5 "$ROWLOCK_TEST_FOLDER/$prefix-machine$machine/log"
        mysql_at $machine 'SELECT member_host, member_state, member_role
            FROM performance_schema.replication_group_members' || :
    done
}
# The primary of the majority: it knows two members that answer.
is_primary_of_group() { # MACHINE
    [ "$(mysql_at "$1" "SELECT count(*) > 1 AND sum(member_role = 'PRIMARY'
            AND member_id = @@server_uuid) = 1 AND NOT @@super_read_only
        FROM performance_schema.replication_group_members
        WHERE member_state = 'ONLINE'" "${2:-1}" 2>/dev/null)" = 1 ]
}
primary_of_group() {
    local machine
    for machine in 1 2 3; do
        ! is_primary_of_group $machine || { echo $machine; return; }
    done
}
accepts_writes_group() {
    mysql_at "$(primary_of_group)" 'CREATE DATABASE IF NOT EXISTS accepted;
        CREATE TABLE IF NOT EXISTS accepted.it (n int); INSERT INTO accepted.it VALUES (1)'
}
# Sessions that a former primary has kept: one with an open transaction stops its replication.
end_sessions() { # MACHINE
    local id
    for id in $(mysql_at "$1" "SELECT id FROM performance_schema.processlist
        WHERE user = 'rowlock'"); do
        mysql_at "$1" "KILL $id" || :
    done
}
# An operator starts the replication of a member again that the group has expelled, and with
# "eventual" ends the sessions there; with "failover" the member has done that itself.
is_whole_group() {
    local machine now
    now=$(primary_of_group)
    for machine in 1 2 3; do
        case $(mysql_at $machine 'SELECT member_state
            FROM performance_schema.replication_group_members
            WHERE member_id = @@server_uuid OR member_id = ""') in
        ONLINE) ;;
        ERROR | OFFLINE)
            [ "$technique" = failover ] || end_sessions $machine
            mysql_at $machine 'STOP GROUP_REPLICATION; START GROUP_REPLICATION;
                SET GLOBAL offline_mode = OFF' 60
            return 1
            ;;
        RECOVERING)
            [ "$technique" = failover ] || end_sessions $machine
            return 1
            ;;
        *) return 1 ;;
        esac
    done
    [ -n "$now" ] && [ "$(mysql_at "$now" "SELECT count(*)
        FROM performance_schema.replication_group_members
        WHERE member_state = 'ONLINE'")" = 3 ] && accepts_writes_group
}
open_group() { # NAME
    database=test_$1
    until_it 30 accepts_writes_group || return 1
    mysql_at "$(primary_of_group)" "CREATE DATABASE test_$1 CHARACTER SET utf8mb4" || return 1
    watch_group >/dev/null 2>&1 &
    manager_pid=$!
    url=mysql://rowlock@$group_address:3306/test_$1
    until_it 20 timeout 2 mariadb --no-defaults -h "$group_address" -u rowlock -e 'SELECT 1' ||
        return 1
    hold_url=$url hold_ttl=$group_ttl
}
# The fail-over manager: the address is where the primary is.
watch_group() {
    local at= now
    while :; do
        now=$(primary_of_group)
        if [ -n "$now" ] && [ "$now" != "$at" ]; then
            [ -z "$at" ] || inside "$at" ip addr del "$group_address/24" dev eth0
            inside "$now" ip addr add "$group_address/24" dev eth0
            ip neigh flush to "$group_address"
            at=$now
        fi
        nap 0.2
    done
}
stop_manager() {
    [ -z "$manager_pid" ] || kill -s KILL "$manager_pid"
    wait "$manager_pid"
    manager_pid=
} 2>/dev/null
sql_group() { mysql_at "$(primary_of_group)" "$1" 20 "${2:-$database}"; }
switch_over_group() {
    local to
    to=$(others | head -n 1)
    to=$(mysql_at "$to" 'SELECT @@server_uuid') &&
        mysql_at "$primary" "SELECT group_replication_set_as_primary('$to', 10)" 60
}
