# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# Patroni: PostgreSQL on machines 1 to 3, etcd on machine 9. Technique "strict" is synchronous mode
# strict, "sync" the same without strict; with "relaxed" the clients' own commits wait for nothing
# (synchronous_commit = off), so that only rowlock's statements make them wait. Patroni's times are
# its defaults: ttl 30, loop_wait 10, retry_timeout 10.

name_patroni=$prefix-patroni
patroni_ttl=90s # docs/clusters.md
store=http://$network.9:2379

start_patroni() {
    local machine user
    start_network 1 2 3 9 || return 1
    user=$(server_user postgres)
    server_folder "$prefix-store" "$user" >/dev/null || return 1
    launch_in 9 "$user" "$prefix-store" etcd --data-dir "$ROWLOCK_TEST_FOLDER/$prefix-store/data" \
        --listen-client-urls "$store" --advertise-client-urls "$store" \
        --listen-peer-urls "http://$network.9:2380" --name store \
        --initial-advertise-peer-urls "http://$network.9:2380" \
        --initial-cluster "store=http://$network.9:2380"
    until_it 30 etcdctl_of get leader || return 1
    start_machine_patroni 1
    # strict, it commits nothing without a standby
    until_it 60 psql_at "$(address_of 1)" 'SELECT 1' postgres read-write ||
        { explain_patroni; return 1; }
    for machine in 2 3; do start_machine_patroni $machine; done
    until_it 120 is_whole_patroni || { explain_patroni; return 1; }
    server_port=5432 server_url=
}
etcdctl_of() { ETCDCTL_API=3 timeout 3 etcdctl --endpoints "$store" "$@"; }
start_machine_patroni() { # MACHINE
    local user folder strict=false
    user=$(server_user postgres)
    folder=$(server_folder "$prefix-machine$1" "$user") || return 1
    [ "$technique" != strict ] || strict=true
    cat >"$folder/patroni.yml" <<YML
scope: rowlock
name: "$1"
restapi: { listen: "$network.$1:8008", connect_address: "$network.$1:8008" }
etcd3: { hosts: ["$network.9:2379"] }
bootstrap:
  dcs:
    synchronous_mode: true
    synchronous_mode_strict: $strict
    postgresql:
      use_pg_rewind: true
      parameters: { max_connections: 200, shared_buffers: 32MB, fsync: "off", jit: "off" }
  initdb: [encoding: UTF8, locale: C.UTF-8, no-sync]
postgresql:
  listen: "$network.$1:5432"
  connect_address: "$network.$1:5432"
  data_dir: "$folder/data"
  bin_dir: "$(dirname "$(postgresql_program postgres)")"
  pgpass: "$folder/tmp/pgpass"
  parameters: { unix_socket_directories: "$folder" }
  pg_hba: [local all all trust, host all all $network.0/24 trust,
           host replication all $network.0/24 trust]
  authentication:
    superuser: { username: postgres }
    replication: { username: postgres }
    rewind: { username: postgres }
YML
    chmod 644 "$folder/patroni.yml"
    launch_in "$1" "$user" "$prefix-machine$1" patroni "$folder/patroni.yml"
}
explain_patroni() {
    local machine
    for machine in 1 2 3; do tail -n 5 "$ROWLOCK_TEST_FOLDER/$prefix-machine$machine/log"; done
}

# HOSTS SQL [DATABASE]
psql_at() {
    PGCONNECT_TIMEOUT=2 timeout 5 "$(postgresql_program psql)" -qAtX -F ' ' -c "$2" \
        "postgresql://postgres@$1/${3:-postgres}?target_session_attrs=${4:-any}"
}
patroni_hosts=$network.1,$network.2,$network.3
primary_of_patroni() { etcdctl_of get /service/rowlock/leader --print-value-only; }
# A commit that waits for a standby; one that is cut off meanwhile reports success.
accepts_at() { # ADDRESS
    psql_at "$1" 'CREATE TABLE IF NOT EXISTS accepted (n int);
        INSERT INTO accepted VALUES (1)' postgres read-write
}
accepts_writes_patroni() { accepts_at "$(address_of "$(primary_of_patroni)")"; }
is_whole_patroni() {
    local now
    now=$(primary_of_patroni) && [ -n "$now" ] &&
        [ "$(psql_at "$network.$now" "SELECT count(*), sum((sync_state = 'sync')::int)
            FROM pg_stat_replication WHERE state = 'streaming'" postgres read-write)" = '2 1' ] &&
        [ "$(sync_key .leader)" = "$now" ] && [ "$(sync_key .sync_standby)" != null ] &&
        accepts_at "$(address_of "$now")"
}
sync_key() { etcdctl_of get /service/rowlock/sync --print-value-only | jq -r "$1"; } # MEMBER
open_patroni() { # NAME
    database=$1
    psql_at "$patroni_hosts" 'CREATE ROLE tester LOGIN CREATEDB' postgres read-write &&
        psql_at "$patroni_hosts" "CREATE DATABASE $1 OWNER tester" postgres read-write || return 1
    [ "$technique" != relaxed ] || psql_at "$patroni_hosts" \
        'ALTER ROLE tester SET synchronous_commit = off' postgres read-write || return 1
    url="postgresql://tester@$patroni_hosts/$1?target_session_attrs=read-write&connect_timeout=2"
    hold_url=$url hold_ttl=$patroni_ttl
}
sql_patroni() { psql_at "$patroni_hosts" "$1" "${2:-$database}" read-write; }
switch_over_patroni() { until_it 60 switch_once; } # its standby may just have changed
switch_once() {
    patronictl -c "$ROWLOCK_TEST_FOLDER/$prefix-machine$primary/patroni.yml" switchover \
        --master "$primary" --candidate "$(sync_key .sync_standby)" --force
}
