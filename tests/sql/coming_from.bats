#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Runs the commands and the program on docs/coming-from/*.md.
# Runs on: sqlite/native
# Quick: never

load coming_from.bash

busy() { # NAME COMMENT: the block is refused while another caller has the name
    token=$("$ROWLOCK" acquire --ttl 60s "$1")
    run do_block "$2"
    "$ROWLOCK" release "$1" --token "$token"
    echo "$output"
    [ "$status" = 75 ]
    [ ! -e ran ]
}
ran_under() { # NAME WORDS: the program ran once, with these arguments, under the lock of the name
    [ "$(cat ran)" = "$2" ]
    [ "$(json '$[0].name' <held)" = "$1" ]
    is_free_now "$1"
}
is_free_now() { run ! "$ROWLOCK" ls "$1"; }

@test "each block of the pages has a test" {
    awk '/^```/ { inside = !inside; first = 1; next }
         inside && first { first = 0; if (/^(#|--) /) print }' "$PAGES"/*.md >blocks
    [ "$(wc -l <blocks)" -ge 16 ]
    while read -r _ comment; do
        grep -qF "${comment%%:*}" "$BATS_TEST_DIRNAME"/coming_from*.bats \
            "$BATS_TEST_DIRNAME/../clients/python_frameworks.bats" || echo "$comment"
    done <blocks >undone
    cat undone
    [ ! -s undone ]
}

@test "articles: one caller updates a bond" {
    do_block "article 1: one"
    ran_under BondBO:DK0015966592 'update-bond DK0015966592'
}

@test "articles: one server sends the mail" {
    local began=
    # between the two calls the job must not become due again
    until [ "$began" = $(($(date +%s) / 300)) ]; do
        began=$(($(date +%s) / 300))
        rm -f ran
        "$ROWLOCK" jobs mail --forget || true
        do_block "article 2:" >jobs
        do_block "article 2:"
    done
    [ "$(cat ran)" = 'send-mail ' ]
    [ "$(json '$[0].name' <held)" = job:mail ]
    grep -q '^mail .*done' jobs
}

@test "articles: one of two jobs refreshes the cache, and both use it" {
    sed -i '1a case $(rowlock --json ls) in *subject:rates*) ;; *) exit 3 ;; esac' \
        load-rates report
    do_block "article 4:" >subjects
    grep -q '^rates ' subjects
    [ "$(cat ran)" = "$(printf 'load-rates \nreport ')" ]
    do_block "article 4:" # it was expired
    [ "$(grep -c load-rates ran)" = 2 ]
}

@test "DBMS_LOCK: a lock until the command ends" {
    do_block "DBMS_LOCK, release_on_commit => FALSE"
    ran_under billing 'close-month '
}

@test "DBMS_LOCK: request and release apart" {
    do_block "DBMS_LOCK, REQUEST and RELEASE apart"
    ran_under billing 'close-month '
}

@test "sp_getapplock: a lock until the command ends" {
    do_block "sp_getapplock, @LockOwner = 'Session'"
    ran_under billing 'close-month '
}

@test "sp_getapplock: shared, without waiting" {
    comment="sp_getapplock, @LockMode = 'Shared', @LockTimeout = 0"
    busy billing "$comment"
    do_block "$comment"
    ran_under billing 'report '
    [ "$(json '$[0].mode' <held)" = shared ]
}

@test "schedulers and scripts under a lock: Celery beat, APScheduler, a console command" {
    do_block "Celery beat: one"
    ran_under beat 'celery -A shop beat'
    rm ran
    do_block "APScheduler: one"
    ran_under scheduler 'scheduler '
    for each in 'with_advisory_lock: a nightly;nightly;report' \
        'Symfony: a console command;app:import;load-rates'; do
        IFS=';' read -r comment name program <<<"$each"
        rm ran
        do_block "$comment"
        ran_under "$name" "$program "
        mv ran former
        token=$("$ROWLOCK" acquire --ttl 60s "$name")
        do_block "$comment" # skipped, with success
        "$ROWLOCK" release "$name" --token "$token"
        [ ! -e ran ]
        mv former ran
    done
}

@test "Laravel: the file of the schedule is right" {
    sed -n '/^    CRON_TZ=/,/^$/s/^    //p' "$PAGES/laravel.md" >farm.cron
    do_block "Laravel: check the file" >listed
    grep -q '^report ' listed
    grep -q '^prices ' listed
}

@test "the functions in C are those of the example" {
    awk '/^```c$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$PAGES"/*.md >shown
    [ "$(wc -l <shown)" -gt 25 ]
    sed -n '/^\/\* release_on_commit => TRUE/,/^int main/p' \
        "$BATS_TEST_DIRNAME/../../examples/request.c" | grep -v '^int main' >program
    diff -B shown program
}

@test "the example locks in a transaction, and by a lease; both time out" {
    for scope in transaction session; do
        "$ROWLOCK_TEST_BIN/examples/request" "$ROWLOCK_URL" billing $scope 10 "echo $scope >>out"
    done
    [ "$(cat out)" = "$(printf 'transaction\nsession')" ]
    token=$("$ROWLOCK" acquire --ttl 60s billing)
    for scope in transaction session; do
        run -1 "$ROWLOCK_TEST_BIN/examples/request" "$ROWLOCK_URL" billing $scope 0 "echo no >>out"
        [[ $output == EBUSY:* ]]
    done
    "$ROWLOCK" release billing --token "$token"
    [ "$(wc -l <out)" = 2 ]
}
