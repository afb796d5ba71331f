#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A database whose encoding lacks characters: "?" takes their place in texts for people, and every
# run, refresh and lease is recorded.
# Runs on: postgresql mariadb
# Quick: postgresql/native mariadb/row
# Rest: postgresql/native

load lib
load run.bash
load job.bash

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# Each database has a character set of its own. What can be stored of a check mark, of an e with an
# accent and of a Japanese character:
tables=(LATIN1:?é? LATIN2:?é? LATIN9:?é? WIN1252:?é? EUC_JP:?é取 SQL_ASCII:✓é取 UTF8:✓é取)
case $ROWLOCK_TEST_ENGINE in
mariadb) tables=(latin1:✓é取 utf8mb3:✓é取 ascii:✓é取 binary:✓é取) ;;
esac
given=✓é取
transport=own

# Calls the function in a new database of each character set, with what it can store.
in_each() { # FUNCTION
    local table base=$ROWLOCK_TEST_URL admin=${ROWLOCK_TEST_ADMIN:-} name ROWLOCK_TEST_URL
    for table in "${tables[@]}"; do
        name=test_${1}_${table%:*}_$ROWLOCK_TEST_TECHNIQUE
        name=${name,,}
        case $ROWLOCK_TEST_ENGINE in
        postgresql)
            psql -qX -v ON_ERROR_STOP=1 "$admin" -c "DROP DATABASE IF EXISTS $name" -c "CREATE
                DATABASE $name OWNER tester ENCODING '${table%:*}' TEMPLATE template0 LOCALE 'C'"
            ;;
        mariadb)
            as_root_of_mariadb -e "DROP DATABASE IF EXISTS $name;
                CREATE DATABASE $name CHARACTER SET ${table%:*}"
            ;;
        esac
        ROWLOCK_TEST_URL=${base%/*}/$name
        install_technique
        [ $transport = own ] || ROWLOCK_TEST_URL=$(through_odbc "$name")
        echo "in ${table%:*}:"
        "$1" "${table#*:}"
    done
}

records_a_job() { # STORED
    job a "${rarely[@]}" --ttl 3s -- printf "$given\\0\\377\\n" >out
    cmp out <(printf "$given\\0\\377\\n")
    run_is a 0 outcome=done exit=0 "output=$1??"$'\n'
    [ "$(runs_of a)" = 1 ]
    # the last bytes, which are all of them characters of several bytes
    rowlock jobs a --now
    run -7 rowlock job a "${rarely[@]}" --ttl 3s -- \
        sh -c 'for i in $(seq 700); do printf "\342\234\223"; done; exit 7'
    run_is a 0 outcome=failed exit=7 "output=$(printf "%0682d" 0 | sed "s/0/${1:0:1}/g")"
    [ "$(runs_of a)" = 2 ]
}
@test "the end of a run is recorded whatever its command prints" {
    in_each records_a_job
}

records_a_crontab() { # STORED
    printf 'every 50w a --ttl 3s -- printf %s\n' "$given" >tab
    start_rowlock cron tab
    until_true has_run_once
    kill "$started"
    ends_with 0 "$started"
    [ "$(rowlock --json jobs a | jq -c '[.[0].history[] | .outcome] | unique')" = '["done"]' ]
    [ "$(view a last_output)" = "$1" ]
}
@test "cron does not repeat a run whose output the database cannot store" {
    in_each records_a_crontab
}
has_run_once() { [ "$(view a last_outcome)" = done ]; }

records_a_refresh() { # STORED
    run -3 rowlock refresh s --max-age 1h --description "d$given" -- \
        sh -c 'printf "%s\n" "$0" >&2; exit 3' "$given"
    [ "$(rowlock --json subjects s | jq -r '.[0] | [.status, .description, .error] | @tsv')" = \
        "ERROR	d$1	exit 3: $1" ]
}
@test "the failure of a refresh is recorded" {
    in_each records_a_refresh
}

# A lease of one name, which has the fastest grant; of two; of a waiter, and its grant; its end in
# the history.
records_leases() { # STORED
    local note="n$given" holder
    for names in one "two more"; do
        # shellcheck disable=SC2086
        rowlock acquire --ttl 1h -n --note "$note" $names
        [ "$(note_of "${names% *}")" = "n$1" ]
    done
    printf '%s\n' '#!/bin/sh' "$(pid_into command)" 'exec sleep 970' >"w$given"
    chmod +x "w$given"
    start_rowlock run --note "$note" -w 1h one -- "./w$given"
    holder=$started
    until_true is_waited_for one
    [ "$(rowlock --json ls one | jq -r '.[] | select(.state == "waiting") | .note')" = "n$1" ]
    USER=u$given LOGNAME=u$given SUDO_USER='' rowlock break --now one
    until_true is_there command
    [ "$(note_of one)" = "n$1" ]
    [ "$(rowlock --json ls one | jq -r '.[0].command')" = "./w$1" ]
    end_by_term "$holder"
    rowlock --json log one | jq -r '.[].broken_by // empty' | grep -q "^u$1@"
    rm command
}
note_of() { rowlock --json ls "$1" | jq -r '.[0].note'; }
@test "leases and waiters are recorded with their notes and commands" {
    in_each records_leases
}

# There a database that lacks any character gets none but ASCII's.
@test "the same through ODBC" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0 # elsewhere the columns have every character
    [[ $("$ROWLOCK" --version) == *odbc* ]] || skip "this build has no driver odbc"
    transport=odbc tables=(LATIN1:??? UTF8:✓é取)
    in_each records_a_job
    in_each records_a_refresh
    in_each records_leases
}
through_odbc() { # DATABASE: its URL, with the tables of a plain dialect
    rowlock schema uninstall >/dev/null
    ROWLOCK_TEST_URL="odbc:Driver=$(find /usr/lib* -name psqlodbcw.so -print -quit)"
    ROWLOCK_TEST_URL+=";Server=127.0.0.1;Port=$ROWLOCK_TEST_POSTGRESQL_PORT;Database=$1;UID=tester"
    rowlock schema install >/dev/null
    echo "$ROWLOCK_TEST_URL"
}
