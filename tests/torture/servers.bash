# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# The engines of tests/torture/run: their servers, a database for each cell, and its rows
# afterwards. Functions of each engine: open_NAME DATABASE sets url; sql_NAME SQL; terminate_NAME
# and cancel_NAME end a session or a statement, which a number selects.

started= # servers
start_engine() { # ENGINE: starts its server, or restarts it after a crash
    [ "$1" != sqlite ] || return 0
    if "start_$1" "$prefix-$1"; then
        export "port_$1=$server_port" "url_$1=$server_url"
        case " $started " in *" $1 "*) ;; *) started="$started $1" ;; esac
    else
        return 1
    fi
}
is_started() { [ "$1" = sqlite ] || case " $started " in *" $1 "*) ;; *) return 1 ;; esac; }
stop_engines() {
    local engine
    for engine in $started; do stop_server "$prefix-$engine"; done
}
crash_engine() { # ENGINE
    stop_server "$prefix-$1" KILL 2>/dev/null
    start_engine "$1"
}

# A new database for a cell; sets url.
open_sqlite() { url=sqlite:$cell_folder/data/torture.db; }
open_postgresql() { # NAME
    database=$1
    sql_postgresql "CREATE DATABASE $1 OWNER tester" postgres && url=$url_postgresql$1
}
open_mariadb() { # NAME
    database=test_$1
    sql_mariadb "CREATE DATABASE test_$1 CHARACTER SET utf8mb4" mysql && url=${url_mariadb}test_$1
}
drop_database() { # ENGINE
    case $1 in
    postgresql) sql_postgresql "DROP DATABASE IF EXISTS $database WITH (FORCE)" postgres ;;
    mariadb) sql_mariadb "DROP DATABASE IF EXISTS $database" mysql ;;
    esac >/dev/null 2>&1
}

# SQL [DATABASE]: as the superuser; prints rows of words
sql_sqlite() { sqlite3 -cmd '.timeout 10000' -separator ' ' "${url#sqlite:}" "$1"; }
sql_postgresql() {
    "$(postgresql_program psql)" -qAtX -F ' ' -h "$ROWLOCK_TEST_FOLDER/$prefix-postgresql" \
        -p "$port_postgresql" -U postgres -d "${2:-$database}" -c "$1"
}
sql_mariadb() {
    mariadb --no-defaults --socket="$ROWLOCK_TEST_FOLDER/$prefix-mariadb/socket" -u root -NB \
        -e "$1" "${2:-$database}"
}

# FUNCTION NUMBER: of a session of the cell's, which the number selects
choose_postgresql() {
    sql_postgresql "SELECT $1(pid) FROM (SELECT pid FROM pg_stat_activity
        WHERE datname = '$database' AND usename = 'tester'
        ORDER BY md5(pid::text || '$2') LIMIT 1) one"
}
choose_mariadb() {
    sql_mariadb "SET @one = (SELECT id FROM information_schema.processlist
        WHERE db = '$database' AND user = 'rowlock' ORDER BY md5(concat(id, '$2')) LIMIT 1);
        EXECUTE IMMEDIATE concat('$1 ', ifnull(@one, 0))"
}
terminate_postgresql() { choose_postgresql pg_terminate_backend "$1"; }
cancel_postgresql() { choose_postgresql pg_cancel_backend "$1"; }
terminate_mariadb() { choose_mariadb KILL "$1"; }
cancel_mariadb() { choose_mariadb 'KILL QUERY' "$1"; }

# The rows that the clients wrote, as lines of a log.
rows_of() { # ENGINE
    "sql_$1" "SELECT 0, client, op, 'ok', 'final', k, n, token FROM torture_row ORDER BY k, n"
}
