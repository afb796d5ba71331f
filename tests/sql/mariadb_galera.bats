#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Two Galera nodes. rowlock refuses both; the other tests repeat the histories of docs/limits.md,
# which are the reason. They use no function of rowlock: g_name has the role of rowlock_name, and
# g_lease that of rowlock_lease.
# Runs on: alone
# Quick: never

load mariadb.bash
# shellcheck source=tests/lib/server.sh
. "$BATS_TEST_DIRNAME/../lib/server.sh"

own=own_${BATS_TEST_FILENAME##*/}
database=test_1

# ---- the nodes ---------------------------------------------------------------------------------

# Both nodes begin with the same data at the same position. So the second node needs no copy of the
# data: this program only hands over the position.
make_handover() { # FOLDER
    cat >"$1/wsrep_sst_handover" <<SH
#!/bin/sh
while [ \$# -gt 0 ]; do
    case \$1 in --role) role=\$2 ;; --gtid) position=\$2 ;; esac
    shift
done
if [ "\$role" = joiner ]; then
    mkfifo "$1/tmp/position"
    echo "ready 127.0.0.1"
    cat "$1/tmp/position"
else
    echo "\$position 0" >"$1/tmp/position"
    echo "done \$position"
fi
SH
    chmod 755 "$1/wsrep_sst_handover"
}
start_node() { # 1|2 [OPTION...]
    local number=$1 mine
    shift
    mine=$(cat "$ROWLOCK_TEST_FOLDER/$own-$number/cluster")
    PATH=$ROWLOCK_TEST_FOLDER/$own-1:$PATH start_mariadb "$own-$number" --wsrep-on=ON \
        --wsrep-provider=/usr/lib/galera/libgalera_smm.so --binlog-format=ROW \
        --innodb-autoinc-lock-mode=2 --wsrep-cluster-address="gcomm://$nodes" \
        --wsrep-node-address="127.0.0.1:$mine" --wsrep-sst-method=handover \
        --wsrep-provider-options="gmcast.listen_addr=tcp://127.0.0.1:$mine;base_port=$mine;\
ist.recv_addr=127.0.0.1:$(free_port);gcache.size=16M" "$@"
}
at() { # 1|2 STATEMENT: its result at that node
    mariadb --no-defaults --socket="$ROWLOCK_TEST_FOLDER/$own-$1/socket" -u root -N -B "$database" \
        -e "$2"
}
are_two() {
    [ "$(at "$1" "SELECT variable_value FROM information_schema.global_status
                  WHERE variable_name IN ('wsrep_cluster_size', 'wsrep_local_state_comment')
                  ORDER BY variable_name" |
        paste -sd' ')" = '2 Synced' ]
}
setup_file() {
    local user folder second number
    if ! [ -e /usr/lib/galera/libgalera_smm.so ]; then
        echo 'package galera-4 is not installed'
        return 1
    fi
    user=$(server_user mysql)
    start_mariadb "$own-1"
    folder=$ROWLOCK_TEST_FOLDER/$own-1
    mariadb --no-defaults --socket="$folder/socket" -u root -e "CREATE DATABASE $database"
    "$ROWLOCK" --db "$server_url$database" schema install
    stop_server "$own-1"
    make_handover "$folder"
    second=$(server_folder "$own-2" "$user")
    nodes=
    for number in 1 2; do
        free_port >"$ROWLOCK_TEST_FOLDER/$own-$number/cluster"
        nodes+=${nodes:+,}127.0.0.1:$(cat "$ROWLOCK_TEST_FOLDER/$own-$number/cluster")
    done
    start_node 1 --wsrep-new-cluster # alone: the position that both nodes begin with
    stop_server "$own-1"
    cp -a "$folder/data" "$second/data"
    start_node 1 --wsrep-new-cluster
    start_node 2
    until_true are_two 1
    until_true are_two 2
}
teardown_file() {
    stop_server "$own-2"
    stop_server "$own-1"
}

# ---- sessions ----------------------------------------------------------------------------------

session_at() { # 1|2 NAME DESCRIPTOR
    ROWLOCK_TEST_MARIADB_SOCKET=$ROWLOCK_TEST_FOLDER/$own-$1 open_session "$2" "$3"
}
is_at() { [ "$(at "$1" "$2")" = "$3" ]; } # 1|2 QUERY RESULT
# Stops the application of other nodes' changes at node 1, until resume_node_1: a change to a table
# that is locked there is the first in the queue.
pause_node_1() {
    echo "LOCK TABLES g_pause READ; SELECT 'node 1 pauses';" >&6
    until_true said pause 'node 1 pauses'
    at 2 'INSERT INTO g_pause VALUES (1)'
    until_true is_at 1 "SELECT count(*) FROM $processlist
                        WHERE state LIKE 'Waiting for table %lock'" 1
}
resume_node_1() { echo 'UNLOCK TABLES;' >&6; }
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    at 2 "CREATE OR REPLACE TABLE g_name (name VARCHAR(9) PRIMARY KEY, token BIGINT,
                                        changes INT DEFAULT 0);
          CREATE OR REPLACE TABLE g_lease (token BIGINT PRIMARY KEY, fences BIGINT DEFAULT 0);
          CREATE OR REPLACE TABLE g_work (token BIGINT PRIMARY KEY);
          CREATE OR REPLACE TABLE g_pause (n INT PRIMARY KEY);
          INSERT INTO g_name (name, token) VALUES ('a', 0)"
    until_true is_at 1 'SELECT count(*) FROM g_name' 1
    session_at 1 one 4
    session_at 2 two 5
    session_at 1 pause 6
}
teardown() { close_sessions; }

# Whether that session executed everything without an error.
is_fine() { ! grep -q '^ERROR' "$1"; }
both_have() { # QUERY RESULT
    until_true is_at 1 "$1" "$2"
    until_true is_at 2 "$1" "$2"
}

# ---- what rowlock does -------------------------------------------------------------------------

reason='another node could grant the same lock at the same time; '
reason+='use a database on a server outside the cluster'

# Each verb opens the database; sessions/mariadb_traps_test has what the library refuses.
@test "a verb refuses a Galera node, and states the reason and the remedy" {
    local url
    url="mariadb://rowlock:secret@127.0.0.1:$(cat "$ROWLOCK_TEST_FOLDER/$own-2/port")/$database"
    run "$ROWLOCK" --db "$url" ls
    echo "ls: $status $output"
    [ "$status" = 69 ]
    [[ $output == *"cannot keep a lock: it is a Galera node: $reason"* ]]
    run "$ROWLOCK" --db "$url" doctor --only server
    echo "doctor: $status $output"
    [ "$status" = 2 ]
    [[ $output == FAIL*server*"cannot keep a lock: it is a Galera node: $reason" ]]
}

@test "every procedure that locks refuses a Galera node, and states the reason and the remedy" {
    local call
    for call in "rowlock_begin_exclusive('a')" "rowlock_begin_shared('a')" "rowlock_prepare('a')" \
        "rowlock_acquire('a', 60000, 'exclusive', NULL, @token)" 'rowlock_renew(1, 60000)' \
        'rowlock_release(1, @released)' 'rowlock_vacuum(@removed)'; do
        run at 1 "CALL $call"
        echo "$call: $output"
        [[ $output == *'(RL002)'*"rowlock: a Galera node: $reason" ]]
        run at 1 "SET SESSION wsrep_on = OFF; CALL $call" # such a session replicates nothing
        [[ $output == *'(RL002)'*"rowlock: a Galera node: $reason" ]]
    done
    for call in "rowlock_exclusive('a')" "rowlock_try_shared('a', 0, @got)" \
        "rowlock_fence('a', 1)" "rowlock_next('a', @number)"; do
        run at 2 "$committed_level; BEGIN; CALL $call"
        echo "$call: $output"
        [[ $output == *'(RL002)'*"rowlock: a Galera node: $reason" ]]
    done
}

# ---- why ---------------------------------------------------------------------------------------

@test "a row lock excludes no session of another node" {
    echo "BEGIN; SELECT CONCAT('locked ', name) FROM g_name FOR UPDATE;" >&4
    until_true said one 'locked a'
    echo "BEGIN; SELECT CONCAT('locked ', name) FROM g_name FOR UPDATE;" >&5
    until_true said two 'locked a'
    echo "COMMIT; SELECT 'committed';" | tee /dev/fd/4 >&5
    until_true said one committed
    until_true said two committed
    is_fine one && is_fine two
}

# A grant, as rowlock makes it: locks the row of the name, sees no lease, and inserts its own.
grant() { # DESCRIPTOR TOKEN LOCK
    echo "$committed_level; BEGIN; $3; SELECT CONCAT('leases ', count(*)) FROM g_lease;
          INSERT INTO g_lease (token) VALUES ($2); COMMIT; SELECT 'committed';" >&"$1"
}
@test "two nodes grant one lease, if the grant only locks the row of the name" {
    pause_node_1
    grant 5 2 "SELECT name FROM g_name WHERE name = 'a' FOR UPDATE"
    until_true said two committed
    grant 4 1 "SELECT name FROM g_name WHERE name = 'a' FOR UPDATE"
    until_true said one 'leases 0'
    resume_node_1
    until_true said one committed
    is_fine one
    is_fine two
    both_have 'SELECT GROUP_CONCAT(token ORDER BY token) FROM g_lease' 1,2
}
@test "the second grant fails at its COMMIT, if the grant writes the row of the name" {
    pause_node_1
    grant 5 2 "UPDATE g_name SET token = 2 WHERE name = 'a'"
    until_true said two committed
    grant 4 1 "UPDATE g_name SET token = 1 WHERE name = 'a'"
    until_true said one 'leases 0'
    resume_node_1
    until_true said one 'ERROR 1213 .*'
    both_have 'SELECT GROUP_CONCAT(token) FROM g_lease' 2
}

# The holder of lease 1 fences at node 1 and writes; node 2 ends that lease and grants the next.
write_under_fence() { # FENCE
    at 2 'INSERT INTO g_lease (token) VALUES (1)'
    until_true is_at 1 'SELECT count(*) FROM g_lease' 1
    echo "BEGIN; $1; INSERT INTO g_work VALUES (1); SELECT 'written';" >&4
    until_true said one written
    pause_node_1
    at 2 'DELETE FROM g_lease WHERE token = 1; INSERT INTO g_lease (token) VALUES (2)'
    is_at 2 'SELECT count(*) FROM g_work' 0 # the next holder begins
    echo "COMMIT; SELECT 'committed';" >&4
}
@test "a write under a lease is committed after the next holder began, if the fence only locks" {
    write_under_fence 'SELECT token FROM g_lease WHERE token = 1 LOCK IN SHARE MODE'
    until_true is_at 2 'SELECT count(*) FROM g_work' 1
    resume_node_1
    until_true said one committed
    is_fine one
    both_have 'SELECT CONCAT(MAX(l.token), MAX(w.token)) FROM g_lease l JOIN g_work w' 21
}
@test "that write fails at its COMMIT, if the fence writes the row of the lease" {
    write_under_fence 'UPDATE g_lease SET fences = fences + 1 WHERE token = 1'
    resume_node_1
    until_true said one 'ERROR 1213 .*'
    both_have 'SELECT count(*) FROM g_work' 0
}

# ---- the remedy --------------------------------------------------------------------------------

update_with() { # TOKEN
    echo "UPDATE g_name SET token = $1, changes = changes + 1 WHERE name = 'a' AND token <= $1"
}
@test "a token in the row that is written keeps out an earlier holder at every node" {
    at 1 "$(update_with 1)"
    both_have 'SELECT token FROM g_name' 1
    echo "BEGIN; $(update_with 1); SELECT CONCAT('rows ', ROW_COUNT());" >&4
    until_true said one 'rows 1'
    pause_node_1
    at 2 "$(update_with 2)"
    echo 'COMMIT;' >&4
    resume_node_1
    until_true said one 'ERROR 1213 .*'
    both_have 'SELECT token FROM g_name' 2
    [ "$(at 1 "$(update_with 1); SELECT ROW_COUNT()")" = 0 ]
    both_have "SELECT CONCAT(token, ' ', changes) FROM g_name" '2 2'
}
