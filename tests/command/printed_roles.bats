#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Every verb by each role of the printed GRANTs: what it may do, and what it is refused.
# Runs on: postgresql mariadb
# Quick: first
# Rest: postgresql mariadb

load lib
load serve
load roles

application=application_${ROWLOCK_TEST_URL##*_} monitor=monitor_${ROWLOCK_TEST_URL##*_}
setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    install_technique
    create_role "$application"
    create_role "$monitor"
    print_grants "$application" >grants.sql
    case $ROWLOCK_TEST_ENGINE in
    postgresql) echo "GRANT pg_monitor TO $monitor;" ;;
    # the comment has those of the role that only monitors
    mariadb) sed -n "s/^--   \(GRANT .*\) TO monitoring;.*/\1 TO $monitor@'%';/p" grants.sql ;;
    esac >monitor.sql
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || [ "$(wc -l <monitor.sql)" -gt 10 ]
    cat grants.sql monitor.sql | paste_in
    token=$(rowlock acquire --ttl 1h held)
    export token
    rowlock acquire --ttl 1h broken >/dev/null
    rowlock job seen --every 50w -- true
    rowlock refresh rates --max-age 1h -- true
}
teardown_file() {
    drop_role "$application"
    drop_role "$monitor"
}
as() { "$ROWLOCK" --db "$(url_of_role "$1")" "${@:2}"; } # ROLE VERB ARGUMENT...

# VERB ARGUMENT..., and the exit statuses: of application, of pg_monitor, of MariaDB's monitoring
# account. 69 is the refusal of a missing privilege. A check on PostgreSQL only reads.
verbs="
acquire --ttl 1h NAME | 0 69 69
break --now broken | 0 69 69
check held --token TOKEN | 0 0 69
demo --workers 2 --hold 0.1 | 0 69 69
doctor --only privileges | 0 2 2
expire rates | 0 69 69
hold NAME --note x | 0 69 69
job NAME --every 1h -- true | 0 69 69
jobs | 0 0 69
jobs --check seen | 0 0 69
log | 0 0 69
ls | 0 0 69
ls held | 0 0 69
ls --tree | 0 0 69
metrics | 0 0 69
metrics --name * | 0 0 69
next NAME | 0 69 69
jobs seen --now | 0 69 69
release given --token GIVEN | 0 69 69
renew held --token TOKEN | 0 69 69
refresh NAME --max-age 1h -- true | 0 69 69
run NAME -- true | 0 69 69
run --tx NAME -- true | 0 69 69
schema install | 0 0 69
schema set history all | 69 69 69
schema uninstall --force | 69 69 69
subjects | 0 0 69
top | 0 0 69
use rates -- true | 0 69 69
vacuum | 0 69 69
"
column() { # of the table
    case $1-$ROWLOCK_TEST_ENGINE in
    "$application"-*) echo 1 ;;
    *-postgresql) echo 2 ;;
    *) echo 3 ;;
    esac
}

@test "each verb by each role of the printed GRANTs succeeds, or is refused" {
    local role words expected status wrong=0 n=0
    set -f # a pattern of names
    for role in "$application" "$monitor"; do
        while IFS='|' read -r words expected; do
            [ -n "$words" ] || continue
            n=$((n + 1)) status=0
            words=${words//NAME/name$n}
            words=${words//TOKEN/$token}
            [[ $words != *GIVEN* ]] || words=${words//GIVEN/$(rowlock acquire --ttl 1h given)}
            expected=$(awk "{ print \$$(column "$role") }" <<<"$expected")
            # shellcheck disable=SC2086
            as "$role" $words >out 2>&1 </dev/null || status=$?
            [ "$status" = "$expected" ] || { wrong=1; echo "$role: $words: $status, not $expected"
                                            cat out; }
            [ "$status" = 0 ] || [[ $words == doctor* ]] || grep -qiE 'denied|schema' out || wrong=1
        done <<<"$verbs"
    done
    set +f
    [ $wrong = 0 ]
}

@test "serve shows its documents to each role that may read them" {
    need_serve
    local role
    for role in "$application" "$monitor"; do
        [ "$role-$ROWLOCK_TEST_ENGINE" != "$monitor-mariadb" ] || continue
        ROWLOCK_TEST_URL=$(url_of_role "$role") start_serve
        for verb in ls jobs subjects log; do get "/api/$verb.json"; done
        get /metrics
        grep -q '^rowlock_up 1' body
        shows $overview '.error == null'
        stop_serve
    done
}
