# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: Apache-2.0
# Starts the peers' servers, as tests/lib/server.sh starts PostgreSQL and MariaDB: in a folder below
# $ROWLOCK_TEST_FOLDER, as an unprivileged user, on a free port of 127.0.0.1. Sourced by bench/run.
#
#   bench_start SERVER   sets server_url and server_pid; otherwise fails, with the reason in `why`

# `launch` writes to the log of the folder. Every command line contains the path of the data, by
# which stop_server recognizes the process as its own.
start_peer() { # NAME USER TEST COMMAND...: replaces the words @PORT@ @PORT2@ @DATA@, also in TEST
    local name=$1 user folder try test word other command=()
    user=$(server_user "$2")
    folder=$(server_folder "$name" "$user") || return 1
    test=$3
    shift 3
    mkdir -p "$folder/data"
    chmod 700 "$folder/data"
    if am_root; then chown "$user" "$folder/data"; fi
    for try in 1 2 3; do
        server_port=$(free_port) other=$(free_port)
        command=()
        for word in "$@"; do
            word=${word//@PORT@/$server_port} word=${word//@PORT2@/$other}
            command+=("${word//@DATA@/$folder/data}")
        done
        launch "$user" "$folder" "${command[@]}"
        # A server may accept connections before it can answer: ask again.
        if await_server "$folder" timeout 5 bash -c "${test//@PORT@/$server_port}"; then
            return 0
        fi
        if is_running "$server_pid"; then stop_server "$name" TERM; fi
    done
    why="it did not start: $(tail -n 1 "$folder/log" | cut -c 1-200)"
    return 1
}
there() { # COMMAND...
    local command
    for command in "$@"; do
        command -v "$command" >/dev/null || { why="$command is not installed"; return 1; }
    done
}

start_etcd() {
    there etcd etcdctl || return 1
    start_peer etcd etcd \
        'ETCDCTL_API=3 etcdctl --endpoints=http://127.0.0.1:@PORT@ endpoint health' \
        etcd --name bench --data-dir @DATA@ --logger zap --log-level error \
        --listen-client-urls http://127.0.0.1:@PORT@ \
            --advertise-client-urls http://127.0.0.1:@PORT@ \
        --listen-peer-urls http://127.0.0.1:@PORT2@ \
            --initial-advertise-peer-urls http://127.0.0.1:@PORT2@ \
        --initial-cluster bench=http://127.0.0.1:@PORT2@ || return 1
    server_url=http://127.0.0.1:$server_port
}
start_zookeeper() {
    local jar=/usr/share/java/zookeeper.jar
    there java || return 1
    [ -e "$jar" ] || { why="zookeeper is not installed"; return 1; }
    # maxClientCnxns: a thousand waiters come from one address. The rest is Debian's example.
    start_peer zookeeper zookeeper \
        '(echo srvr >&3; grep -q Mode <&3) 3<>/dev/tcp/127.0.0.1/@PORT@' \
        bash -c "cd @DATA@ && printf '%s\n' tickTime=2000 initLimit=10 syncLimit=5 \
            maxClientCnxns=0 dataDir=@DATA@ clientPort=@PORT@ clientPortAddress=127.0.0.1 \
            admin.enableServer=false >@DATA@/config &&
            exec java -cp '$jar' -Dzookeeper.jmx.log4j.disable=true \
            org.apache.zookeeper.server.quorum.QuorumPeerMain @DATA@/config" || return 1
    server_url=127.0.0.1:$server_port
}
start_one_redis() { # NAME OPTION...
    local name=$1
    shift
    there redis-server redis-cli || return 1
    start_peer "$name" redis 'redis-cli -p @PORT@ ping | grep -q PONG' \
        redis-server --port @PORT@ --bind 127.0.0.1 --dir @DATA@ --daemonize no \
            --set-proc-title no \
        --maxclients 2000 "$@" || return 1
    server_url=redis://127.0.0.1:$server_port
}
# client_connection_check_interval: a killed waiter leaves its queue at once, and not only at its
# turn. deadlock_timeout: after it each waiter checks for a deadlock, and reads the whole queue of
# its lock for each waiter ahead of it. A thousand such checks stop all locks of the server for ten
# seconds and more. With the default of 1 s, a crowd that is served in less time escapes them.
start_one_postgresql() { # NAME OPTION...
    local name=$1
    shift
    [ -n "$(postgresql_program postgres)" ] || { why="postgresql is not installed"; return 1; }
    start_postgresql "$name" -c jit=on -c max_connections=1100 -c shared_buffers=128MB \
        -c deadlock_timeout=60s \
        -c client_connection_check_interval=1s "$@" ||
        { why="PostgreSQL did not start"; return 1; }
    "$(postgresql_program createdb)" -h "$server_socket" -p "$server_port" -U postgres -O tester \
        bench || return 1
    server_url=${server_url}bench
}
# A session whose client was killed waits until its lock wait ends, and counts until then.
start_one_mariadb() {
    there mariadbd mariadb || return 1
    start_mariadb mariadb --loose-skip-debug-no-sync --innodb-flush-log-at-trx-commit=1 \
        --innodb-buffer-pool-size=128M \
        --max-connections=4000 || { why="MariaDB did not start"; return 1; }
    mariadb --no-defaults --socket="$server_socket/socket" -u root -e 'CREATE DATABASE test_bench' \
        || return 1
    server_url=${server_url}test_bench
}

bench_start() { # SERVER
    why=
    server_pid=0
    case $1 in
    etcd | zookeeper) "start_$1" ;;
    redis) start_one_redis redis --save '' ;;
    redis-always) start_one_redis redis-always --save '' --appendonly yes --appendfsync always ;;
    postgresql) start_one_postgresql postgresql -c fsync=on -c full_page_writes=on ;;
    postgresql-nosync) start_one_postgresql postgresql-nosync -c fsync=off ;;
    mariadb) start_one_mariadb ;;
    sqlite) server_url=sqlite:$ROWLOCK_TEST_FOLDER/bench.db ;;
    *) why="bench/servers.sh cannot start it"; return 1 ;;
    esac
}
