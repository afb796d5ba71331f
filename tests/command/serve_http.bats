#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# serve, whatever the database: requests, escaping, addresses, its beginning and its end.
# Runs on: sqlite/native

load lib
load serve.bash

@test "a history that cannot be read fails alone; the other documents have the present state" {
    take one
    start_serve
    put_away history
    status_is 503 GET '/api/log.json?old=1'
    is_error rowlock_history
    shows $overview '.error == null'
    status_is 503 GET /api/log.json
    is_error rowlock_history
    status_is 503 GET /timeline.svg
    shows '/api/ls.json?name=one&old=1' 'length == 1'
    get /metrics
    grep -qx 'rowlock_up 1' body
    put_back history
    until_true get '/api/log.json?old=1'
    if grep 'does not answer' err; then return 1; fi
    status_is 200 GET /api/log.json
}

payloads=($'<script>alert(1)</script>&lt;b&gt;\u202eright to left'
    "\"><img src=x onerror='alert(1)'>%00%2f?name=x#y/../.."
    $'esc\e[31m\x01\x7f\ttab\ntwo \e[31m\x01\x7f\tlines')

@test "every text of others is whole JSON, of its own name: names, notes, commands, hosts, output" {
    local payload url
    for payload in "${payloads[@]}"; do
        take "$payload" --note "$payload"
        start_rowlock acquire --ttl 1h -w 1h --note "$payload" --name "$payload"
        # shellcheck disable=SC2016
        run rowlock job "$payload" --every 50w --note "$payload" -- \
            sh -c 'printf "%s\n" "$1"; exit 7' "$payload" "$payload"
        # shellcheck disable=SC2016
        run rowlock refresh "$payload" --max-age 1h --note "$payload" -- \
            sh -c 'printf "%s\n" "$1" >&2; exit 7' "$payload" "$payload"
    done
    sql "UPDATE ${ours}lease SET host = '<script>alert(2)</script>', command = '\"><b>'"
    start_serve
    for payload in "${payloads[@]}"; do
        url=$(encoded "$payload")
        until_true shows "/api/ls.json?name=$url" 'length == 2 and all(.note == $it)' \
            --arg it "$payload"
        shows "/api/jobs.json?name=$url" '.[0] | .name == $it and .last_output == $it + "\n"' \
            --arg it "$payload"
        shows $overview 'any(.queues[]; .name == $it) and any(.bad_jobs[]; .name == $it) and
            any(.bad_subjects[]; .subject == $it)' --arg it "$payload"
        same "/api/ls.json?name=$url" ls --name "$payload"
        same "/api/jobs.json?name=$url" jobs --name "$payload"
    done
    get $overview
    if LC_ALL=C grep -q $'[\x01\x1b\x7f]' body; then return 1; fi
}

# N TEXT: N of the answers have a line of their head that begins with the text
heads_have() {
    awk -v RS= -v text="$2" 'index("\n" $0, "\n" text) { n++ } END { print n + 0 }' head >with
    [ "$(cat with)" = "$1" ] || { echo "$(cat with) heads, not $1, have $2"; cat head; return 1; }
}

@test "only GET and HEAD, without a body; other addresses are 404, malformed names 400" {
    start_serve
    printf '405 %s /\n' POST PUT DELETE PATCH OPTIONS | answers
    heads_have 5 'Allow: GET, HEAD'
    status_is 200 HEAD /
    [ ! -s body ]
    status_is 413 GET / 'Content-Length: 5'
    status_is 413 GET / 'Transfer-Encoding: chunked'
    {
        printf '404 GET %s\n' /nothing /lock/x /api/ /api/ls /style.css.map \
            '/%2e%2e/etc/passwd' /index.html
        printf '400 GET %s\n' '/api/ls.json?name=%00' '/api/jobs.json?name=a%00b' \
            '/lock?name=%ff' '/metrics?name=%5b' '/metrics?name=a[!b' '/metrics?name=%ff' \
            '/api/ls.json?old=%00' '/api/ls.json?name=%ff' '/api/log.json?name=%00' \
            '/timeline.svg?name=%zz' '/api/ls.json?name=%zz' '/api/ls.json?name=%4' \
            "/api/ls.json?name=$(printf '%0256d' 0)"
        printf '200 GET %s\n' "/api/ls.json?name=$(printf '%0255d' 0)" \
            '/api/ls.json?name=%5b' '/history?name=%5b' '/api/log.json?name=%5b' \
            '/metrics?name=%5c%5b' # a name is not a pattern
    } | answers
    refuses_unread 414 GET "/?q=$(printf '%020000d' 0)"
    status_is 404 GET /nothing
    is_page
    status_is 404 GET /api/nothing
    is_error 'no such document'
    get /
}

@test "each answer has the headers that keep other sites and caches out" {
    start_serve
    printf '%s\n' '200 GET /' '404 GET /nothing' '200 GET /style.css' '200 GET /script.js' \
        '200 GET /icon.svg' '200 GET /metrics' '200 GET /api/ls.json' | answers
    for header in "Content-Security-Policy: default-src 'none'; style-src 'self'; \
script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
frame-ancestors 'none'" 'X-Content-Type-Options: nosniff' 'Referrer-Policy: no-referrer' \
        'Cache-Control: no-store' 'X-Frame-Options: DENY'; do
        heads_have 7 "$header"
    done
    if grep -i access-control head; then return 1; fi
}

@test "a page that was rebound to this machine gets nothing" {
    start_serve
    {
        printf '421 GET /api/ls.json Host: %s\n' evil.example evil.example:7420 \
            127.0.0.1.evil.example localhost.evil.example '[::2]' '' 127.evil.example
        printf '200 GET /api/ls.json Host: %s\n' localhost LOCALHOST:1 127.0.0.1 127.0.0.1:7420 \
            127.1.2.3 '[::1]' '[::1]:7420'
    } | answers
}

@test "an address that others can reach is refused, with advice, unless it is allowed" {
    for to in 0.0.0.0:0 '[::]:0' 192.0.2.1:7420 '[2001:db8::1]:7420'; do
        run -64 --separate-stderr rowlock serve --listen "$to"
        [[ $stderr == *"listen on 127.0.0.1:${to##*:} or"* ]]
        [[ $stderr == *"--allow-remote"*"proxy"* || $stderr == *"proxy"*"--allow-remote"* ]]
    done
    start_serve --listen 0.0.0.0:0 --allow-remote
    address=127.0.0.1:${address##*:}
    status_is 200 GET / 'Host: shop.example'
}

@test "wrong addresses and arguments are refused" {
    for to in '' x 7420 :7420 127.0.0.1 127.0.0.1: 127.0.0.1:x 127.0.0.1:99999 ::1:7420 unix: \
        "unix:/$(printf '%0120d' 0)" example.org:7420; do
        runs 64 rowlock serve --listen "$to"
    done
    run rowlock serve --listen 127.0.0.1:99999
    [[ $output == *'a port is a number from 1 to 65535'* ]]
    run -64 rowlock serve name
    run -64 rowlock --json serve
    start_serve
    run -125 --separate-stderr rowlock serve --listen "$address"
    [[ $stderr == *"another program"* ]]
}

@test "IPv6, and a Unix socket with the permissions of the umask, which is removed at the end" {
    start_serve --listen unix:"$PWD/own"
    [ "$(stat -c %a own)" = 640 ]
    get /
    status_is 200 GET / 'Host: shop.example' # a browser cannot be led to a socket
    # another server is not pushed aside
    run -125 --separate-stderr rowlock serve --listen unix:"$PWD/own"
    [[ $stderr == *"another program, perhaps another rowlock serve, listens there"* ]]
    stop_serve
    [ ! -e own ]
    umask 007
    start_serve --listen unix:"$PWD/own"
    [ "$(stat -c %a own)" = 660 ]
    # killed, it leaves the file, which the next one replaces
    kill -s KILL "$server"
    until_true is_gone "$server"
    [ -e own ]
    start_serve --listen unix:"$PWD/own"
    get /
    stop_serve
    echo precious >own
    run -125 rowlock serve --listen unix:"$PWD/own"
    [ "$(cat own)" = precious ]
    if [ -e /proc/net/if_inet6 ]; then
        start_serve --listen '[::1]:0'
        get /
    fi
}

@test "TERM and INT end it with success, also while requests come" {
    for signal in TERM INT; do
        start_serve
        (perl "$lib/http.pl" "$address" viewers 5 200 / >/dev/null 2>&1 || true) 3>&- &
        get /
        kill -s $signal "$server"
        wait "$server"
    done
    wait
}

@test "a service manager learns when it is ready, its address, and that it stops" {
    start_listener notify
    NOTIFY_SOCKET=$PWD/notify WATCHDOG_USEC=200000 start_serve
    until_true grep -q '^READY=1 STATUS=serving on http://127.0.0.1:' datagrams
    until_true grep -q '^WATCHDOG=1$' datagrams
    stop_serve
    until_true grep -q '^STOPPING=1 ' datagrams
    [ "$(grep -c READY datagrams)" = 1 ]
}

@test "a database without rowlock's tables, or a wrong URL, ends it with the verbs' status" {
    run -69 --separate-stderr "$ROWLOCK" --db nonsense://x serve --listen 127.0.0.1:0
    printf '%01000d' 0 >none.db
    run ! --separate-stderr "$ROWLOCK" --db sqlite:none.db serve --listen 127.0.0.1:0
    if [[ $stderr == *"serving on"* ]]; then return 1; fi
}

@test "a client that sends nothing, or half a request, does not keep others out" {
    start_serve
    perl -e 'use IO::Socket::IP; my @sockets;
        for my $i (1 .. 20) {
            my $socket = IO::Socket::IP->new(PeerAddr => $ARGV[0]) or die;
            print $socket "GET / HT" if $i % 2;
            $socket->flush;
            push @sockets, $socket;
        }
        open my $sent, ">", "sent"; close $sent; sleep 600' "$address" 3>&- &
    all_started+=($!)
    until_true is_there sent
    get $overview
}
