#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The password of the account changes while rowlock runs: each verb that reads its URL from a file
# continues with the new one, if it names the same database.
# Runs on: postgresql/native mariadb/row
# Quick: never

load lib
load run.bash
load job.bash
load serve.bash
load terminal.bash
load own_server.bash

setup_file() {
    use_own
    rowlock schema install
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        sql 'CREATE ROLE rotating LOGIN IN ROLE tester'
        sql 'CREATE DATABASE test_other OWNER tester'
        hba=$server_data/pg_hba.conf
        printf '%s\n' 'host all rotating 127.0.0.1/32 scram-sha-256' "$(cat "$hba")" >"$hba.new"
        cat "$hba.new" >"$hba"
        sql 'SELECT pg_reload_conf()'
        ;;
    mariadb)
        sql "CREATE USER rotating@'%'; CREATE DATABASE test_other"
        sql "GRANT ALL ON test_own.* TO rotating@'%'"
        sql "GRANT ALL ON test_other.* TO rotating@'%'"
        ;;
    esac
    "$ROWLOCK" --db "${ROWLOCK_TEST_URL/test_own/test_other}" schema install
}
setup() {
    forget_jobs
    : >err
    write_url first
    set_password first
}
teardown() {
    exec 5>&-
    end_started
}

set_password() {
    case $ROWLOCK_TEST_ENGINE in
    postgresql) sql "ALTER ROLE rotating PASSWORD '$1'" ;;
    mariadb) sql "ALTER USER rotating@'%' IDENTIFIED BY '$1'" ;;
    esac
}
url_with() { # PASSWORD [DATABASE]
    local place=${ROWLOCK_TEST_URL#*@}
    echo "${ROWLOCK_TEST_URL%%:*}://rotating:$1@${place%%/*}/${2:-test_own}$tls"
}
write_url() { # PASSWORD [DATABASE]: into the file url, by a rename
    (umask 077 && { echo '# the URL of the farm' && url_with "$@"; } >url.new)
    mv url.new url
}
by_file() { start env -u ROWLOCK_URL ROWLOCK_URL_FILE=url "$ROWLOCK" "$@"; } # VERB...
end_sessions_of_it() {
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'rotating'" \
            >/dev/null
        ;;
    mariadb)
        local id
        for id in $(sql "SELECT id FROM $processlist WHERE user = 'rotating'"); do
            sql "KILL $id" || true # it may have ended by itself
        done
        ;;
    esac
}
rotate() { # PASSWORD: the file first
    write_url "$1"
    set_password "$1"
    end_sessions_of_it
}
said() { grep -q "$1" err; }
renewed_since() { [[ $(item "$1" '$[0].expires') > $2 ]]; }
has_run() { [ "$(wc -l <ran 2>/dev/null)" -ge "$1" ]; }

@test "cron continues, and so does a run that it started before" {
    echo 'every 1s often -- echo ran >>ran' >tab
    echo 'every 50w long --ttl 6s -- touch long; until [ -e let-go ]; do sleep 0.02; done' >>tab
    by_file cron tab
    daemon=$started
    until_true has_run 1
    until_true is_there long
    rotate second
    : >ran
    until_true has_run 2
    expires=$(item job:long '$[0].expires')
    until_true renewed_since job:long "$expires"
    touch let-go
    until_true runs_nowhere long
    run_is long 0 outcome=done
    set_password third # and the file later: HUP ends the pause
    end_sessions_of_it
    until_true said "trying again"
    write_url third
    : >ran
    kill -s HUP "$daemon"
    until_true has_run 2
    kill -s TERM "$daemon"
    ends_with 0 "$daemon"
    [[ $(cat err) != *second* ]]
    [[ $(cat err) != *third* ]]
}

@test "a run, and the keeper of acquire --while-pid, renew their leases" {
    by_file run --ttl 6s kept -- sh -c 'until [ -e let-go ]; do sleep 0.02; done'
    holder=$started
    until_true is_held kept
    start sleep 300
    env -u ROWLOCK_URL ROWLOCK_URL_FILE=url "$ROWLOCK" acquire --ttl 6s --while-pid "$started" pid
    rotate second
    expires=$(item kept '$[0].expires')
    until_true renewed_since kept "$expires"
    expires=$(item pid '$[0].expires')
    until_true renewed_since pid "$expires"
    touch let-go
    ends_with 0 "$holder"
    kill "$started"
    until_true is_free pid
}

@test "serve and top show the database again" {
    : >out
    by_file serve --listen 127.0.0.1:0
    server=$started
    until_true serves
    address=$(sed -n 's|.*serving on http://\(.*\)/$|\1|p' err)
    TERM=xterm at_terminal "env -u ROWLOCK_URL ROWLOCK_URL_FILE=url '$ROWLOCK' top"
    until_true grep -q 'q quit' screen
    rotate second
    take shown
    until_true shows /api/ls.json 'any(.name == "shown")'
    until_true grep -q shown screen
    type_in q
    stop_serve
}

@test "a file that names another database is refused, and nothing is renewed there" {
    by_file run --ttl 4s --kill-after 500ms moved -- sh -c 'while :; do sleep 0.02; done'
    holder=$started
    until_true is_held moved
    write_url second test_other
    set_password second
    end_sessions_of_it
    until_true said "names another server or database"
    until_true is_free moved
    wait "$holder" || status=$?
    [ "$status" -gt 100 ]
    [ "$(in_other "SELECT count(*) FROM ${ours}lease")" = 0 ]
    [[ $(cat err) != *second* ]]
}
in_other() {
    local ROWLOCK_TEST_ADMIN=${ROWLOCK_TEST_ADMIN/test_own/test_other}
    local ROWLOCK_TEST_URL=${ROWLOCK_TEST_URL/test_own/test_other}
    sql "$1"
}

@test "a URL given by --db is not read again, and the message states that" {
    echo 'every 1s often -- echo ran >>ran' >tab
    start "$ROWLOCK" --db "$(url_with first)" cron tab
    until_true has_run 1
    set_password second
    end_sessions_of_it
    until_true said "the URL is that of --db, which is not read again"
    [[ $(cat err) != *first* ]]
}
