# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
# Starts and stops database servers for the tests. tests/run sources it, and so does any *.bats or
# *_test.sh that needs a server of its own (a standby, a read-only one, one to be killed). A server
# has a folder below $ROWLOCK_TEST_FOLDER, runs as an unprivileged user, listens on a Unix socket
# there and on a free port of 127.0.0.1. tests/run stops it at the latest.
#
#   start_postgresql NAME [OPTION...]   starts a new server, or restarts the one whose data is in
#                                       NAME/data, on its previous port
#   start_mariadb NAME [OPTION...]      OPTIONs are appended to the server's command line. It is
#                                       MySQL if MYSQL_BIN is the folder of MySQL's programs
#   start_tidb NAME                     one node of TiDB with an embedded store: TIDB_BIN is the
#                                       folder of its program (tools/get-tidb)
#   load_zones SOCKET ZONE...          gives a server of MariaDB or MySQL these time zones
#   start_derby NAME, start_h2, start_hsqldb   servers in Java; a client creates a database by its
#                                       URL, which jdbc_url ENGINE PORT DATABASE prints
#   start_pooler NAME URL [MODE]        pgbouncer before the database of a URL, in transaction or
#                                       session mode; stop_pooler NAME
#   start_standby NAME PRIMARY [OPTION...]  copies a server of PostgreSQL, and starts the copy as
#                                       its standby
#   stop_server NAME                    shuts it down; stop_server NAME KILL kills it
#   server_environment=(VARIABLE=VALUE...)   of servers that are started from then on;
#   server_wrapper=(COMMAND...)         a program that executes its arguments, for these servers
#   as_postgresql, as_mariadb COMMAND...   runs a command as the server's user
#
# After a start these are set: server_pid, server_port, server_socket (a folder), server_data,
# server_log, server_admin (URL of a superuser), server_url (URL of the role tester, on MariaDB
# rowlock; append the database).

server_clients=$(cd "${BASH_SOURCE[0]%/*}" && pwd)/client
case :$PATH in
*:"$server_clients":*) ;;
*) PATH=$server_clients:$PATH:/usr/sbin:/sbin ;;
esac
: "${ROWLOCK_TEST_FOLDER:=}"
server_environment=()
server_wrapper=()

am_root() { [ "$(id -u)" = 0 ]; }
server_user() { # NAME: the user that runs a server
    if ! am_root; then
        id -un
    elif id "$1" >/dev/null 2>&1; then
        echo "$1"
    else
        echo nobody
    fi
}
# setpriv, not runuser: setpriv becomes the command, so that $! is the server itself.
as_user() { # USER COMMAND...
    local user=$1
    shift
    if am_root; then
        setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups -- "$@"
    else
        "$@"
    fi
}
as_postgresql() { as_user "$(server_user postgres)" "$@"; }
as_mariadb() { as_user "$(server_user mysql)" "$@"; }

# Prints the path of a program of PostgreSQL, of the newest installed version. With POSTGRESQL_BIN,
# the bin folder of another version, it is that version's program. Where the folder lacks a client
# program, an installed one replaces it if it can talk to that version; else nothing is printed.
postgresql_program() {
    local found
    if [ "$1" = postgres ] && [ -n "${server_program:-}" ]; then
        echo "$server_program" # a copy with extensions of its own (tests/sql/extension.bash)
        return
    fi
    # shellcheck disable=SC2012
    found=$(ls -d "/usr/lib/postgresql/"*"/bin/$1" 2>/dev/null | sort -V | tail -n 1)
    found=${found:-$(command -v "$1")}
    if [ -n "${POSTGRESQL_BIN:-}" ] && [ -x "$POSTGRESQL_BIN/$1" ]; then
        found=$POSTGRESQL_BIN/$1
    elif [ -n "${POSTGRESQL_BIN:-}" ]; then
        case $1 in
        psql | pg_isready) ;;
        pg_dump | pg_restore | pg_basebackup) # for servers of their own version, and older ones
            [ "$(major_version "$found")" -ge "$(major_version "$POSTGRESQL_BIN/postgres")" ] ||
                found=
            ;;
        *) found= ;;
        esac
    fi
    echo "$found"
}
major_version() { # PROGRAM
    "$1" --version | sed -n 's/^[^0-9]*\([0-9]*\).*/\1/p'
}

is_running() { # PID: runs, and is not a zombie
    local state
    state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null) || return 1
    [ -n "$state" ] && [ "$state" != Z ]
}
port_is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
port_of() { # FOLDER: the port that its server had before, or a free one
    cat "$1/port" 2>/dev/null || free_port | tee "$1/port"
}
free_port() { # below the range from which the kernel gives ports to clients
    local port
    while port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000)); do
        if port_is_free "$port"; then
            echo "$port"
            return
        fi
    done
}

server_folder() { # NAME USER: creates the folder and gives it to the user
    local folder=$ROWLOCK_TEST_FOLDER/$1
    mkdir -p "$folder/tmp"
    chmod 755 "$folder"
    if am_root; then chown "$2" "$folder" "$folder/tmp"; fi
    # The path of a socket in it must fit into 107 bytes.
    if [ ${#folder} -gt 80 ]; then
        echo "the folder $folder is too deep for a socket; choose another TMPDIR" >&2
        return 1
    fi
    echo "$folder"
}

# ---- templates: a data folder is created once per run, then copied -----------------------------

make_postgresql_template() { # FOLDER
    local initdb postgres
    initdb=$(postgresql_program initdb)
    postgres=$(postgresql_program postgres)
    if [ -z "$initdb" ] || [ -z "$postgres" ]; then
        echo "no PostgreSQL server is installed"
        return 1
    fi
    (cd / && as_postgresql "$initdb" -D "$1" -U postgres --auth=trust --encoding=UTF8 \
        --locale=C.UTF-8 --no-sync) &&
        (cd / && echo 'CREATE ROLE tester LOGIN CREATEDB' |
            as_postgresql "$postgres" --single -D "$1" -F postgres)
}
# The accounts have no password: over TCP rowlock sends one to MySQL only with TLS.
make_mysql_template() { # FOLDER
    printf '%s\n' "CREATE USER root@'127.0.0.1';" \
        "GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;" \
        "CREATE USER rowlock@'%'; CREATE USER rowlock@localhost;" \
        "GRANT ALL ON \`test\_%\`.* TO rowlock@'%';" \
        "GRANT ALL ON \`test\_%\`.* TO rowlock@localhost;" >"$1.tmp/accounts.sql"
    (cd / && as_mariadb "$MYSQL_BIN/mysqld" --no-defaults --datadir="$1" --tmpdir="$1.tmp" \
        --initialize-insecure --init-file="$1.tmp/accounts.sql" --mysqlx=OFF \
        --innodb-redo-log-capacity=16M)
}
make_mariadb_template() { # FOLDER
    command -v mariadbd >/dev/null || { echo "no MariaDB server is installed"; return 1; }
    (cd / && as_mariadb mariadb-install-db --no-defaults --datadir="$1" --tmpdir="$1.tmp" \
        --auth-root-authentication-method=normal --skip-test-db) &&
        (cd / && as_mariadb mariadbd --no-defaults --datadir="$1" --tmpdir="$1.tmp" --bootstrap \
            --log-error="$1.tmp/bootstrap.log" <<'SQL')
FLUSH PRIVILEGES;
DELETE FROM mysql.global_priv WHERE User = '';
FLUSH PRIVILEGES;
CREATE USER IF NOT EXISTS root@'127.0.0.1';
GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;
CREATE USER rowlock@'%' IDENTIFIED BY 'secret';
CREATE USER rowlock@localhost IDENTIFIED BY 'secret';
GRANT ALL ON `test\_%`.* TO rowlock@'%';
GRANT ALL ON `test\_%`.* TO rowlock@localhost;
SQL
}
make_template() { # ENGINE USER: creates the template on first use
    local template=$ROWLOCK_TEST_FOLDER/template/$1
    mkdir -p "$ROWLOCK_TEST_FOLDER/template"
    (
        flock 9
        if [ ! -e "$template.made" ]; then
            mkdir -p "$template" "$template.tmp"
            chmod 700 "$template"
            if am_root; then chown "$2" "$template" "$template.tmp"; fi
            if ! "make_$1_template" "$template" >"$template.log" 2>&1; then
                echo "the $1 data folder cannot be made:" >&2
                tail -n 20 "$template.log" >&2
                exit 1
            fi
            : >"$template.made"
        fi
    ) 9>"$template.lock"
}
copy_template() { # ENGINE USER DATA
    make_template "$1" "$2" && cp -a "$ROWLOCK_TEST_FOLDER/template/$1" "$3"
}

# ---- starting and stopping --------------------------------------------------------------------

launch() { # USER FOLDER COMMAND...: sets server_pid
    local user=$1 folder=$2 options=()
    shift 2
    if am_root; then
        options=(--reuid "$user" --regid "$(id -g "$user")" --clear-groups)
    fi
    # A server ends with the shell that started it, unless that shell is one that ends earlier.
    if [ "$BASHPID" = "$$" ] && [ -z "${BATS_VERSION:-}" ]; then
        options+=(--pdeathsig TERM)
    fi
    # by setpriv's child: a library that is preloaded shares memory with what its user may open
    (cd / && exec "${server_wrapper[@]}" setpriv "${options[@]}" -- \
        env "${server_environment[@]}" "$@") \
        </dev/null >>"$folder/log" 2>&1 3>&- &
    server_pid=$!
    echo "$server_pid" >"$folder/pid"
}
# FOLDER COMMAND...: repeats the command until it succeeds; fails if the server has ended
await_server() {
    local folder=$1 tries=0
    shift
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        if ! is_running "$(cat "$folder/pid")" || [ $tries -gt 600 ]; then
            return 1
        fi
        sleep 0.05
    done
}
explain() { # ENGINE FOLDER
    echo "$1 did not start; the end of $2/log:" >&2
    tail -n 20 "$2/log" >&2
    return 1
}

# ENGINE NAME USER TEMPLATE [OPTION...]: starts it by launch_ENGINE USER FOLDER [OPTION...], and
# waits until answers_ENGINE FOLDER succeeds. On another port, if another program has taken the free
# one, which is the word PORT in an option. A new server has the data of the template, or none.
start_server() {
    local engine=$1 name=$2 user template=$4 folder try
    user=$(server_user "$3")
    folder=$(server_folder "$name" "$user") || return 1
    shift 4
    if [ ! -e "$folder/data" ] && [ -n "$template" ]; then
        copy_template "$template" "$user" "$folder/data" || return 1
    elif [ ! -e "$folder/data" ]; then
        as_user "$user" mkdir "$folder/data" || return 1
    fi
    for try in 1 2 3; do
        server_port=$(port_of "$folder")
        "launch_$engine" "$user" "$folder" "${@/#PORT/$server_port}"
        if await_server "$folder" "answers_$engine" "$folder"; then
            server_data=$folder/data server_socket=$folder server_log=$folder/log
            return 0
        fi
        [ "$try" = 3 ] ||
            grep -qi 'could not bind\|address already in use\|port .* in use' "$folder/log" || break
        rm -f "$folder/port"
    done
    explain "$engine" "$folder"
}

launch_postgresql() { # USER FOLDER [OPTION...]
    launch "$1" "$2" "$(postgresql_program postgres)" -D "$2/data" \
        -p "$server_port" -c listen_addresses=127.0.0.1 -c unix_socket_directories="$2" \
        -c dynamic_shared_memory_type=mmap -c fsync=off -c full_page_writes=off -c jit=off \
        -c max_connections=200 -c shared_buffers=32MB \
        -c deadlock_timeout=200ms -c log_line_prefix='%m [%p] %q%d ' "${@:3}"
}
answers_postgresql() { "$(postgresql_program pg_isready)" -h "$1" -p "$server_port"; } # FOLDER
start_postgresql() { # NAME [OPTION...]
    start_server postgresql "$1" postgres postgresql "${@:2}" || return 1
    server_admin="postgresql://postgres@127.0.0.1:$server_port/"
    server_url="postgresql://tester@127.0.0.1:$server_port/"
}

# Copies the data folder itself, because pg_basebackup is missing for some versions (see
# postgresql_program).
start_standby() { # NAME PRIMARY [OPTION...]
    local name=$1 folder from=$ROWLOCK_TEST_FOLDER/$2 where
    shift 2
    where="host=$from port=$(cat "$from/port") user=postgres"
    folder=$(server_folder "$name" "$(server_user postgres)") || return 1
    (cd / && FROM=$from/data TO=$folder/data as_postgresql "$(postgresql_program psql)" -qAtX \
        -v ON_ERROR_STOP=1 -v label="$folder/data/backup_label" "$where" <<'SQL') || return 1
SELECT current_setting('server_version_num')::integer < 150000 AS old \gset
\if :old
    SELECT pg_start_backup('standby', true, false);
\else
    SELECT pg_backup_start('standby', true);
\endif
\! cp -a "$FROM" "$TO"; rm -rf "$TO"/postmaster.* "$TO"/pg_replslot/* && : >"$TO/standby.signal"
\o :label
\if :old
    SELECT labelfile FROM pg_stop_backup(false);
\else
    SELECT labelfile FROM pg_backup_stop(false);
\endif
SQL
    echo "primary_conninfo = '$where application_name=$name'" >>"$folder/data/postgresql.auto.conf"
    start_postgresql "$name" "$@"
}

launch_mariadb() { # USER FOLDER PROGRAM [OPTION...]
    launch "$1" "$2" "$3" --no-defaults --datadir="$2/data" \
        --tmpdir="$2/tmp" --socket="$2/socket" --port="$server_port" \
        --bind-address=127.0.0.1 --pid-file="$2/mariadbd.pid" --skip-name-resolve \
        --innodb-buffer-pool-size=64M --innodb-flush-log-at-trx-commit=2 --loose-debug-no-sync \
        --max-connections=200 "${@:4}"
}
answers_mariadb() { mariadb --no-defaults --socket="$1/socket" -u root -e ''; } # FOLDER
start_mariadb() { # NAME [OPTION...]
    if [ -n "${MYSQL_BIN:-}" ]; then
        # like MariaDB by default: no binary log; the small redo log is quick to create
        start_server mariadb "$1" mysql mysql "$MYSQL_BIN/mysqld" --mysqlx=OFF \
            --secure-file-priv=NULL --skip-log-bin --innodb-redo-log-capacity=16M \
            "${@:2}" || return 1
        server_admin=mysql://root@127.0.0.1:$server_port/
        server_url=mysql://rowlock@127.0.0.1:$server_port/
    else # since 11.4 it offers TLS with a certificate of its own
        start_server mariadb "$1" mysql mariadb mariadbd --skip-ssl \
            "${@:2}" || return 1
        server_admin=mariadb://root@127.0.0.1:$server_port/
        server_url=mariadb://rowlock:secret@127.0.0.1:$server_port/
    fi
}

# With txn-total-size-limit at its default, KILL of a session whose transaction holds a lock ends
# the server (a panic in its memory tracker, observed with the one of tools/get-tidb).
launch_tidb() { # USER FOLDER
    cat >"$2/conf.toml" <<TOML
host = "127.0.0.1"
port = $server_port
path = "$2/data"
store = "unistore"
temp-dir = "$2/tmp"
socket = ""
[status]
report-status = false
[performance]
txn-total-size-limit = 104857601
[log]
level = "error"
slow-query-file = "$2/slow.log"
TOML
    launch "$1" "$2" "$tidb_program" -config "$2/conf.toml"
}
client_of_tidb() { mariadb --no-defaults -h 127.0.0.1 -P "$server_port" -u root "$@"; }
answers_tidb() { client_of_tidb -e ''; }
start_tidb() { # NAME
    tidb_program=$TIDB_BIN/tidb-server
    if ! as_mariadb test -x "$tidb_program"; then # in a checkout below a private folder
        tidb_program=$ROWLOCK_TEST_FOLDER/tidb-server
        [ -x "$tidb_program" ] || cp "$TIDB_BIN/tidb-server" "$tidb_program" || return 1
    fi
    start_server tidb "$1" mysql '' || return 1
    client_of_tidb -e "CREATE USER IF NOT EXISTS rowlock@'%';
        GRANT ALL ON *.* TO rowlock@'%'" || return 1
    server_admin=mysql://root@127.0.0.1:$server_port/
    server_url=mysql://rowlock@127.0.0.1:$server_port/
}

# SOCKET ZONE...: gives a server of MariaDB or MySQL these time zones, of which a new one has none
load_zones() {
    local client=(mariadb --no-defaults --socket="$1" -u root mysql) zone
    (
        flock 9 # another test may load them too
        for zone in "${@:2}"; do
            echo "SELECT count(*) FROM time_zone_name WHERE name = '$zone'" | "${client[@]}" -N |
                grep -qx 0 || continue
            # the rest is MariaDB's alone
            mariadb-tzinfo-to-sql "/usr/share/zoneinfo/$zone" "$zone" |
                grep -E '^(INSERT|SET @time_zone_id|[ ,][(]|;)' | "${client[@]}" || return 1
        done
    ) 9>>"$1.zones"
}

# PID PORT: whether the process listens on the port
listens() {
    local inode
    inode=$(awk -v port="$(printf ':%04X' "$2")" '$4 == "0A" && $2 ~ port "$" { print $10 }' \
        /proc/net/tcp /proc/net/tcp6)
    [ -n "$inode" ] && find "/proc/$1/fd" -lname "socket:\[$inode\]" 2>/dev/null | grep -q .
}
# USER FOLDER JARS COMMAND...: a server in Java, small. Derby keeps a cache for each database: forty
# of them with the default size filled the heap, and the server answered nothing for half a minute.
launch_java() {
    launch "$1" "$2" java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
        -XX:-UsePerfData -Djava.io.tmpdir="$2/tmp" -Dderby.system.home="$2/data" \
        -Dderby.system.durability=test -Dderby.storage.pageCacheSize=100 \
        -Dh2.bindAddress=127.0.0.1 -cp "$3" "${@:4}"
}
answers_java() { listens "$server_pid" "$server_port"; }
start_java() { # NAME JARS COMMAND...
    start_server java "$1" nobody '' "${@:2}" || return 1
    server_url= server_admin=
}
JARS=/usr/share/java
start_derby() { # NAME
    start_java "$1" "$JARS/derbynet.jar:$JARS/derby.jar" \
        org.apache.derby.drda.NetworkServerControl start -h 127.0.0.1 -p PORT -noSecurityManager
}
start_h2() { # NAME
    start_java "$1" "$JARS/h2.jar" \
        org.h2.tools.Server -tcp -tcpPort PORT -ifNotExists -baseDir "$ROWLOCK_TEST_FOLDER/$1/data"
}
start_hsqldb() { # NAME
    start_java "$1" "$JARS/hsqldb.jar" \
        org.hsqldb.server.Server --address 127.0.0.1 --port PORT --remote_open true --silent true \
        --maxdatabases 1000
}
# ENGINE PORT DATABASE [FOLDER]: the first client creates the database, in memory, except Derby's;
# with the folder of the server's data in files
jdbc_url() {
    case $1${4:+/kept} in
    h2/kept) echo "jdbc:h2:tcp://127.0.0.1:$2/./$3;USER=sa;PASSWORD=secret" ;;
    hsqldb/kept)
        echo "jdbc:hsqldb:hsql://127.0.0.1:$2/$3;file:$4/$3;hsqldb.tx=mvcc;user=SA;password="
        ;;
    derby*) echo "jdbc:derby://127.0.0.1:$2/$3;create=true;user=app;password=secret" ;;
    h2) echo "jdbc:h2:tcp://127.0.0.1:$2/mem:$3;DB_CLOSE_DELAY=-1;USER=sa;PASSWORD=secret" ;;
    postgresql) echo "jdbc:postgresql://127.0.0.1:$2/postgres?user=postgres" ;;
    mariadb) echo "jdbc:mariadb://127.0.0.1:$2/test?user=root&createDatabaseIfNotExist=true" ;;
    hsqldb) echo "jdbc:hsqldb:hsql://127.0.0.1:$2/$3;mem:$3;hsqldb.tx=mvcc;user=SA;password=" ;;
    esac
}

# ENGINE odbc|jdbc URL: the URL of the same database through the transport. The driver of ODBC is
# the file itself, because none is registered on the machine.
transport_url() {
    local user=${3#*//} at=${3#*@} password= file
    user=${user%%@*}
    case $user in *:*) password=${user#*:} user=${user%%:*} ;; esac
    case $1/$2 in
    postgresql/jdbc) echo "jdbc:postgresql://$at?user=$user" ;;
    mariadb/jdbc) echo "jdbc:mariadb://$at?user=$user&password=$password" ;;
    */jdbc) echo "$3" ;;
    */odbc)
        case $1 in postgresql) file=psqlodbcw.so ;; mariadb) file=libmaodbc.so ;; esac
        file=$(ls /usr/lib*/"$file" /usr/lib*/{odbc,*/odbc,*}/"$file" 2>/dev/null | head -n 1)
        echo "odbc:Driver=$file;Server=127.0.0.1;Port=$(expr "$at" : '.*:\([0-9]*\)/')$(
            echo ";Database=${at#*/};UID=$user${password:+;PWD=$password}")"
        ;;
    esac
}

# start_pooler NAME URL [session]: pgbouncer before the database of the URL. In transaction mode it
# has fewer backends than clients (POOL=3), so that each transaction gets a free one. server_url is
# then the URL of that database.
start_pooler() {
    local role=${2#*//} port=${2##*:} database=${2##*/}
    role=${role%%[@:]*} port=${port%%/*}
    start_server pooler "$1" postgres '' "$role" "$port" "$database" "${3:-transaction}" || return 1
    server_url="postgresql://$role@127.0.0.1:$server_port/$database"
}
launch_pooler() { # USER FOLDER ROLE PORT DATABASE MODE
    cat >"$2/ini" <<INI
[databases]
$5 = host=127.0.0.1 port=$4 user=$3
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $server_port
auth_type = any
pool_mode = $6
max_client_conn = 6000
default_pool_size = $(if [ "$6" = session ]; then echo 50; else echo "${POOL:-3}"; fi)
unix_socket_dir =
server_tls_sslmode = disable
server_login_retry = 0.2
ignore_startup_parameters = extra_float_digits
logfile = $2/pooler.log
pidfile = $2/pooler.pid
INI
    chmod 644 "$2/ini"
    launch "$1" "$2" "$(command -v pgbouncer)" "$2/ini"
}
answers_pooler() { "$(postgresql_program pg_isready)" -h 127.0.0.1 -p "$server_port"; }
stop_pooler() { # NAME
    kill -s INT "$(cat "$ROWLOCK_TEST_FOLDER/$1/pid")"
    rm -f "$ROWLOCK_TEST_FOLDER/$1/pid"
}

stop_server() { # NAME [SIGNAL]
    local folder=$ROWLOCK_TEST_FOLDER/$1 signal=${2:-INT} pid children child tries=0
    [ -e "$folder/pid" ] || return 0
    pid=$(cat "$folder/pid")
    # The kernel may have given the pid to another process since.
    if is_running "$pid" && tr '\0' ' ' <"/proc/$pid/cmdline" | grep -qF "$folder/data"; then
        if [ -e "$folder/mariadbd.pid" ] && [ "$signal" = INT ]; then signal=TERM; fi
        # PostgreSQL's child processes outlive a killed server briefly
        children=$(pgrep -P "$pid") || true
        kill -s CONT "$pid" && kill -s "$signal" "$pid"
        while is_running "$pid"; do
            tries=$((tries + 1))
            if [ $tries = 400 ]; then kill -s KILL "$pid"; fi
            sleep 0.05
        done
        for child in $children; do
            while is_running "$child" && [ $((tries += 1)) -lt 800 ]; do sleep 0.05; done
        done
        wait "$pid" 2>/dev/null || true # a child of another shell
    fi
    # A killed server leaves its shared memory segment; the seventh line of the file names it.
    if [ "$signal" = KILL ] && [ -e "$folder/data/postmaster.pid" ]; then
        ipcrm -m "$(sed -n '7s/.* //p' "$folder/data/postmaster.pid")" 2>/dev/null || true
    fi
    # A killed server that its parent has not reaped yet looks as if it still ran.
    if [ "$signal" = KILL ]; then
        rm -f "$folder"/.s.PGSQL.*.lock "$folder/data/postmaster.pid" "$folder/socket.lock"
    fi
    rm -f "$folder/pid"
}
# Every process that inherited $ROWLOCK_TEST_FOLDER: a test that was stopped may have left some. The
# shell that set it is not among them, because the kernel shows the environment with which a program
# was started.
remains() {
    env -u ROWLOCK_TEST_FOLDER grep -lszxF -e "ROWLOCK_TEST_FOLDER=$ROWLOCK_TEST_FOLDER" \
        /proc/[0-9]*/environ |
        sed -n 's|/proc/\([0-9]*\)/.*|\1|p' | while read -r pid; do
        if is_running "$pid"; then echo "$pid"; fi
    done
}
end_remains() {
    local tries=0 signal=TERM pids
    while pids=$(remains) && [ -n "$pids" ]; do
        # shellcheck disable=SC2086
        kill -s $signal $pids 2>/dev/null || true
        if [ $((tries += 1)) -gt 50 ]; then signal=KILL; fi
        sleep 0.1
    done
}
stop_servers() { # [SIGNAL], all below $ROWLOCK_TEST_FOLDER
    local file
    for file in "$ROWLOCK_TEST_FOLDER"/*/pid; do
        if [ -e "$file" ]; then stop_server "$(basename "$(dirname "$file")")" "$@"; fi
    done
}
