#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# serve and the timeline against rows, readers and clients that want to exhaust this machine.
# Runs on: sqlite/native
# Quick: never

load lib
load serve.bash

teardown() { # a lease that a failed test left would keep the next one waiting
    end_started TERM
    sql 'DELETE FROM rowlock_history; DELETE FROM rowlock_run; DELETE FROM rowlock_job;
         DELETE FROM rowlock_heartbeat; DELETE FROM rowlock_lease'
}
is_small() { # FILE: a picture of a few bars, or a list of a few rows
    [ "$(stat -c %s "$1")" -lt 65536 ] || { ls -l "$1"; return 1; }
}
last_of() { grep -o ' to [-0-9]* [:0-9]* [-+0-9]*, [0-9]* entr' "$1"; }

# Year 9999, the edges of 64 bits, the time before 1970, an end before its begin.
times=(253402300799999 9223372036854775807 -9223372036854775808)
[ "$ROWLOCK_TEST_EFFORT" = quick ] ||
    times+=(9223372036854775806 -1 1 9223372036854775000 -62135596800000)

@test "rows with times out of this world draw a bounded picture that ends now" {
    ulimit -f 16384 # KiB
    rowlock schema set history all
    rowlock run usual -- true
    rowlock run far -- true
    sql "UPDATE rowlock_history SET ended = 32503680000000000 WHERE name = 'far'"
    rowlock log --svg far.svg
    is_small far.svg
    sql "DELETE FROM rowlock_history WHERE name = 'far'"
    for acquired in NULL "${times[@]}"; do
        for waited in 0 "${times[@]}"; do
            echo "INSERT INTO rowlock_history SELECT 'far', mode, 1, token + 1, host, pid,
                  command, note, $acquired, $waited, %s, how, 0, NULL FROM rowlock_history
                  WHERE name = 'usual';"
        done
    done >inserts
    run -0 rowlock job usual --every 1w -- true
    for ended in "${times[@]}" "(SELECT ended FROM rowlock_history WHERE name = 'usual')"; do
        # shellcheck disable=SC2059 # the end is %s
        sql "$(while IFS= read -r line; do printf "${line}\n" "$ended"; done <inserts)
             UPDATE rowlock_run SET started = -9223372036854775808, finished = 9223372036854775807;"
        rowlock log --limit 20 --svg far.svg
        is_small far.svg
        rowlock log --svg all.svg
        [[ $(last_of all.svg) == " to $(date +%Y)-"* ]]
        rowlock log >list
        rowlock --json log >document
        jq -e 'all(.held_ms == null or .held_ms >= 0)' document
        sql "DELETE FROM rowlock_history WHERE name = 'far'"
    done
    sql "UPDATE rowlock_history SET ended = 9223372036854775806, acquired = 1000"
    start_serve
    get '/timeline.svg?name='
    is_small body
    grep -q '<svg' body
    shows '/api/log.json?old=1' 'any(.name == "usual")'
    shows '/api/jobs.json?old=1&name=usual' '.[0].history[0].outcome == "done"'
    get /api/log.json
    stop_serve
}

@test "rows of every table with such times: lists, documents and metrics answer" {
    local at column verb page
    rowlock acquire --ttl 1h one
    start_rowlock acquire --ttl 1h -w 1h one
    run rowlock job usual --every 1w -- true
    rowlock refresh data --max-age 1h -- true
    start_serve
    until_true shows $overview '.totals.waiting == 1'
    kill -s KILL "${all_started[0]}"
    for at in "${times[@]}"; do
        for column in lease.acquired heartbeat.expires waiter.since waiter.alive_until \
            run.started run.finished job.due job.last job.failed job.last_success \
            subject.began subject.ended subject.updated; do
            echo "UPDATE rowlock_${column%.*} SET ${column#*.} = $at;"
        done >updates
        sql "$(cat updates)"
        for verb in ls 'ls --tree' jobs subjects metrics 'jobs usual'; do
            # shellcheck disable=SC2086 # words
            rowlock $verb >list
        done
        for page in /metrics $overview /api/ls.json?old=1 '/api/ls.json?name=one&old=1' \
            /api/jobs.json?old=1 '/api/jobs.json?name=usual&old=1' /api/subjects.json?old=1 \
            /api/log.json?old=1; do
            get $page
        done
    done
    stop_serve
}

clients() { perl "$lib/clients.pl" "$address" "$@"; } # in the background; see there
add_lease() { # BYTES: with a note of this size
    rowlock acquire --ttl 1h large
    sql "UPDATE rowlock_lease SET note = hex(zeroblob($1 / 2)) WHERE name = 'large'" >note
}

# read_slowly N TARGET: starts N clients, and returns when each has the begin of its answer. They
# ask again if one was refused: the view is late on a busy machine, or an earlier answer is still
# being sent.
read_slowly() {
    start perl "$lib/clients.pl" "$address" hold "$@"
    until_true all_read "$@"
}
all_read() {
    is_there ready || ! is_gone "$started" || start perl "$lib/clients.pl" "$address" hold "$@"
    is_there ready
}

peak() { sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$server/status"; }

@test "readers of one document share one copy of it" {
    add_lease 4000000
    start_serve
    until_true get /api/ls.json?old=1
    [ "$(stat -c %s body)" -gt 4000000 ]
    local before
    before=$(peak)
    read_slowly 90 /api/ls.json?old=1
    echo "$before kB, then $(peak) kB"
    [ -n "${SANITIZE:-}" ] || [ $(($(peak) - before)) -lt 100000 ] # 90 copies: 360000
    stop_serve
}

@test "clients that read slowly keep a bounded number of answers; small ones are still sent" {
    for name in large{1..9}; do rowlock acquire --ttl 1h "$name"; done
    sql "UPDATE rowlock_lease SET note = hex(zeroblob(4000000)) WHERE name LIKE 'large_'" >note
    start_serve
    until_true get '/api/ls.json?name=large1&old=1'
    read_slowly 9 '/api/ls.json?name=large%&old=1'
    status_is 503 GET /api/ls.json?old=1
    is_error 'too many readers'
    get /jobs
    get /api/jobs.json?old=1
    kill "$started"
    until_true get '/api/ls.json?name=large1&old=1'
    stop_serve
}

@test "a request that comes byte by byte, and an answer that is read so, have an end" {
    add_lease 16000000
    start_serve
    until_true get "/api/ls.json?name=large&old=1"
    start perl "$lib/clients.pl" "$address" sip "/api/ls.json?name=large&old=1"
    sip=$started
    until_true is_there ready
    rm ready
    start perl "$lib/clients.pl" "$address" drip 99
    drip=$started
    until_true is_there ready
    [ "$(timeout 120 perl "$lib/http.pl" "$address" GET /api/jobs.json?old=1)" = 200 ]
    wait "$drip"
    wait "$sip"
    [ "$(cat out)" = cut ]
    stop_serve
}

@test "a remote address has 25 connections, a proxy on this machine any number" {
    local own
    own=$(hostname -I | tr ' ' '\n' | grep -m 1 '^[0-9.]*$') || skip "no address but loopback"
    start_serve --listen 0.0.0.0:0 --allow-remote
    local port=${address##*:}
    address=$own:$port
    # 15 are refused; fewer on a machine so slow that the first meet their deadline meanwhile
    local refused
    refused=$(clients hold 40)
    echo "$refused are refused"
    [ "$refused" -ge 1 ]
    [ "$refused" -le 15 ]
    rm ready
    start perl "$lib/clients.pl" "$own:$port" hold 25
    until_true is_there ready
    address=127.0.0.1:$port
    [ "$(clients hold 40)" = 0 ]
    get $overview
    stop_serve
}

@test "many parameters, headers and cookies are refused at once" {
    start_serve
    for n in 33 300 1500; do
        status_is 414 GET "/?$(printf 'a&%.0s' $(seq "$n"))"
        is_error 32
    done
    refuses_unread 414 GET "/?$(printf 'a&%.0s' {1..10000})"
    status_is 200 GET "/?$(printf 'a=b&%.0s' {1..31})"
    status_is 431 GET / "Cookie: $(printf 'a=b;%.0s' {1..1500})"
    # shellcheck disable=SC2046 # words
    status_is 431 GET / $(printf 'a: %.0s' {1..1500})
    get /
}

# Its client sends the body so slowly that 20 s pass from its first byte.
@test "an order that comes too late is not carried out, because its client may have given up" {
    write_users
    start_serve --allow-actions --users users --user-header X-Remote-User --proxy 127.0.0.1
    get /api/session.json 'X-Remote-User: pat'
    perl -MIO::Socket::IP -e 'my ($to, $cookie, $token) = @ARGV;
        my @parts = (q({"name":"x",), q("note":), q("x"), q(}));
        my $socket = IO::Socket::IP->new(PeerAddr => $to) or die;
        $socket->autoflush(1);
        print $socket join "\r\n", "POST /api/hold HTTP/1.1", "Host: localhost",
            "Connection: close", "Content-Type: application/json", "Cookie: $cookie",
            "X-Remote-User: pat", "X-Rowlock-Token: $token",
            "Content-Length: " . length join("", @parts), "", "";
        for my $part (@parts) { print $socket $part; sleep 7 if $part ne "}" }
        print <$socket>' "$address" \
        "$(sed -n 's/^Set-Cookie: \([^;]*\);.*/\1/p' head)" "$(jq -r .token body)" >slow
    grep -q '^HTTP/1.1 503' slow
    grep -q 'was not carried out' slow
    rowlock --json ls x | jq -e '. == []'
}
