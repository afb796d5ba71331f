#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# serve: pages and documents, by HTTP.
# Runs on: sqlite postgresql mariadb
# Quick: first

bats_require_minimum_version 1.5.0
load lib
load job.bash
load serve.bash

setup_file() {
    install_technique
    need_serve
}
setup() { cd "$BATS_TEST_TMPDIR" || return 1; }
held=()
teardown() {
    local pid name
    for pid in "${all_started[@]}"; do
        kill "$pid" 2>/dev/null || true
        until_true is_gone "$pid"
    done
    for name in "${held[@]}"; do rowlock break --now "$name"; done
}
take() { # NAME [OPTION...]
    held+=("$1")
    rowlock acquire --ttl 1h --name "$1" "${@:2}"
}

@test "an empty farm: each page explains how to begin, and the documents are empty" {
    start_serve
    shows / "No lock is held"
    shows / "No problems"
    shows /locks "No lock is held or waited for"
    for page in / /jobs; do shows $page "<code>rowlock job</code> in a crontab"; done
    shows /subjects "No subject was refreshed yet"
    shows /lock?name=free "is free"
    for verb in ls jobs subjects log; do
        shows / "\"/api/$verb.json\""
        same "/api/$verb.json" "$verb"
    done
    stop_serve
}

@test "holders, waiters and permits, on the overview, the list and the page of a name" {
    take one --note 'a note'
    take seats --limit 3
    start "$ROWLOCK" --db "$ROWLOCK_TEST_URL" acquire --ttl 1h -w 1m --note 'in a hurry' one
    start_serve
    until_true shows /lock?name=one "in a hurry"
    shows /lock?name=one "a note"
    shows / 'href="/lock?name=one"'
    shows / "Longest wait"
    shows /locks "1 of 3 permits"
    shows /lock?name=seats "1 of 3 permits"
    get '/locks?q=SEA'
    grep -q 'name=seats' body
    if grep -q 'name=one' body; then return 1; fi
    shows '/locks?q=hurry' 'name=one'
    rowlock break one
    until_true shows / "told to stop"
}

@test "jobs: state, output and history; a job that is not known is 404" {
    run rowlock job broken --every 50w -- sh -c 'echo first; echo last; exit 7'
    rowlock job good --every 50w -- true
    start_serve
    shows /jobs 'href="/job?name=broken"'
    shows /jobs "exit 7"
    shows / "has failed for"
    shows /job?name=broken "exit 7"
    grep -qx 'last' body # a line of the output
    shows /job?name=good "printed nothing"
    status_is 404 GET /job?name=unknown
    is_page
    grep -q "No node has asked for this job" body
    rowlock jobs broken --forget
    rowlock jobs good --forget
}

@test "a held job is paused, not a problem" {
    rowlock job held --every 50w -- true
    rowlock hold job:held --note 'the disk is full' >/dev/null
    held+=(job:held)
    start_serve
    shows /job?name=held "the disk is full"
    grep -q 'pill calm">paused' body
    shows / "No problems"
    shows /lock?name=job%3Aheld 'href="/job?name=held"'
    rowlock break --now job:held
    held=()
    rowlock jobs held --forget
}

@test "subjects: their age, and the last refresh" {
    rowlock refresh prices --max-age 1h -- true
    run rowlock refresh rates --max-age 1h -- sh -c 'echo no route >&2; exit 3'
    start_serve
    shows /subjects prices
    shows /subjects COMPLETE
    shows /subjects "no route"
    shows / "the last refresh failed"
    get '/subjects?q=rat'
    if grep -q prices body; then return 1; fi
}

@test "the documents equal the verbs' JSON, also those of one name" {
    take 'a "name" / with ü' --note 'x'
    take two
    run rowlock job broken --every 50w --retry 1 --backoff 0 -- sh -c 'echo out; exit 7'
    run rowlock job broken --every 50w --retry 1 --backoff 0 -- sh -c 'echo out; exit 7'
    rowlock refresh prices --max-age 1h -- true
    start_serve
    same /api/ls.json ls
    same "/api/ls.json?name=$(encoded 'a "name" / with ü')" ls 'a "name" / with ü'
    same /api/ls.json?name=free ls free
    same /api/jobs.json jobs
    same /api/jobs.json?name=broken jobs broken
    same /api/jobs.json?name=unknown jobs unknown
    same /api/subjects.json subjects
    same /api/subjects.json?name=prices subjects prices
    grep -q '^Content-Type: application/json' head
}

@test "history: ended leases, waiters that gave up and runs, with a timeline" {
    for name in old 'o[l]d*'; do # a revoked lease is always kept
        rowlock acquire --ttl 1h "$name" --note 'a past note'
        rowlock break --now "$name"
    done
    take busy
    run rowlock acquire -w 0.2 busy
    run rowlock job failed --every 50w -- false
    start_serve
    shows /history 'name=old'
    grep -q 'src="/timeline.svg?name=&amp;v=[0-9]*"' body
    grep -q 'gave up' body
    shows /lock?name=old 'a past note'
    if grep -q 'busy' body; then return 1; fi
    get "/lock?name=$(encoded 'o[l]d*')" # a name, not a pattern
    is_page
    grep -q 'History <span class="count">1<' body
    same /api/log.json log
    same /api/log.json?name=old log old
    same /api/log.json?name=never log never
    same /api/log.json?name=failed log failed
    shows /lock?name=failed 'name=job%3Afailed' # with the runs of the job of that name
    get /timeline.svg?name=old
    grep -q '^Content-Type: image/svg+xml' head
    grep -q "^Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'" head
    grep -q '<svg' body
    shows '/history?q=PAST' 'name=old'
    if grep -q 'name=busy' body; then return 1; fi
    rowlock jobs failed --forget
}

@test "a history that cannot be read fails on its own page; the others show the present state" {
    [ "$ROWLOCK_TEST_ENGINE" = sqlite ] || return 0 # its table is renamed by hand
    take one
    start_serve
    sql 'ALTER TABLE rowlock_history RENAME TO rowlock_history_away'
    shows /history 'The history cannot be read: '
    shows_not /history 'class="banner" id="old"'
    status_is 503 GET /api/log.json
    grep -q '^{"error":".*rowlock_history' body
    status_is 503 GET /timeline.svg
    shows /lock?name=one 'The history cannot be read: '
    grep -q 'Holders <span class="count">1' body
    get /metrics
    grep -qx 'rowlock_up 1' body
    sql 'ALTER TABLE rowlock_history_away RENAME TO rowlock_history'
    until_true shows_not /history 'The history cannot be read'
    if grep 'does not answer' err; then return 1; fi
    status_is 200 GET /api/log.json
}

@test "the metrics are those of the verb" {
    take one
    start_serve
    get '/metrics?name=o*'
    grep -q '^Content-Type: text/plain; version=0.0.4' head
    perl "$lib/exposition.pl" <body | grep -v duration >found
    rowlock metrics --name 'o*' | perl "$lib/exposition.pl" | grep -v duration >expected
    sed -i '/oldest_wait/d' expected found
    cmp expected found
    grep -qxF 'rowlock_lease_held{name=one,mode=exclusive} 1' found
    grep -qx 'rowlock_up 1' found
}

payloads=('<script>alert(1)</script>' "\"><img src=x onerror='alert(1)'>" $'esc\e[31m\x01\x7f\ttab'
    $'two\nlines' '&lt;b&gt;' $'\u202eright to left' '../..' '%00%2f?name=x#y')

@test "every text of others is escaped: names, notes, commands, hosts, output, errors" {
    local payload url
    for payload in "${payloads[@]}"; do
        take "$payload" --note "$payload"
        start "$ROWLOCK" --db "$ROWLOCK_TEST_URL" acquire --ttl 1h -w 1h --note "$payload" \
            --name "$payload"
        # shellcheck disable=SC2016
        run rowlock job "$payload" --every 50w --note "$payload" -- \
            sh -c 'printf "%s\n" "$1"; exit 7' "$payload" "$payload"
        # shellcheck disable=SC2016
        run rowlock refresh "$payload" --max-age 1h --note "$payload" -- \
            sh -c 'printf "%s\n" "$1" >&2; exit 7' "$payload" "$payload"
    done
    sql "UPDATE $(as_table lease) SET host = '<script>alert(2)</script>', command = '\"><b>'"
    start_serve
    for payload in "${payloads[@]}"; do
        url=$(encoded "$payload")
        get "/lock?name=$url"
        is_page
        grep -q '<h2 id="holders">Holders <span class="count">1</span>' body
        get "/job?name=$url"
        is_page
        get "/locks?q=$url"
        is_page
        grep -q '/lock?name=' body
        same "/api/ls.json?name=$url" ls --name "$payload"
        same "/api/jobs.json?name=$url" jobs --name "$payload"
    done
    for page in / /locks /jobs /subjects /history; do
        get $page
        is_page
    done
    shows / '&lt;script&gt;alert(2)&lt;/script&gt;'
    # each link of a page leads to its own name
    get /locks
    grep -o 'href="/lock?name=[^"]*"' body | sed 's/.*"\(.*\)"/\1/' >links
    [ "$(wc -l <links)" -ge ${#payloads[@]} ]
    while read -r url; do shows "$url" 'Holders <span class="count">1'; done <links
}

@test "callers that wait for each other are a problem on the first page" {
    cat >cycle <<'EOF'
touch "$2"
until [ -e "$3" ]; do sleep 0.02; done
exec "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run "$1" -- true
EOF
    export ROWLOCK
    start_serve
    shows_not / '>cycle</span>'
    start "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run 'one<b>' -- sh cycle two held-one held-two
    start "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run two -- sh cycle 'one<b>' held-two held-one
    two=$started
    until_true shows / '>cycle</span>'
    shows / '<div>Lock <a class="name" href="/lock?name=one'
    shows / '<bdi>one&lt;b&gt;</bdi></a>, <a class="name" href="/lock?name=two">'
    shows / '<bdi>two</bdi></a>: the holder of each waits for another of them.'
    shows / 'class="tile alarm" href="/locks"><span class="label">Waiting'
    kill -s TERM "$two"
    until_true shows_not / '>cycle</span>'
}

@test "only GET and HEAD, without a body; other pages are 404, malformed names 400" {
    start_serve
    for method in POST PUT DELETE PATCH OPTIONS; do
        status_is 405 $method /
        is_page
        grep -q '^Allow: GET, HEAD' head
    done
    status_is 200 HEAD /
    [ ! -s body ]
    status_is 413 GET / 'Content-Length: 5'
    status_is 413 GET / 'Transfer-Encoding: chunked'
    for path in /nothing /lock/x /api/ /api/ls /style.css.map '/%2e%2e/etc/passwd' /index.html; do
        status_is 404 GET "$path"
        is_page
    done
    for target in /lock /job '/lock?name=' '/lock?name=%00' '/lock?name=a%00b' '/lock?name=%ff' \
        '/metrics?name=%5b' '/metrics?name=a[!b' '/metrics?name=%ff' '/?q=%00' '/history?q=%ff' \
        '/api/ls.json?name=%ff' '/api/log.json?name=%00' '/timeline.svg?name=%zz' \
        '/lock?name=%zz' '/lock?name=%4' "/lock?name=$(printf '%0256d' 0)"; do
        status_is 400 GET "$target"
        is_page
    done
    status_is 200 GET "/lock?name=$(printf '%0255d' 0)"
    for target in '/lock?name=%5b' '/history?name=%5b' '/api/log.json?name=%5b' \
        '/metrics?name=%5c%5b'; do
        status_is 200 GET "$target" # a name is not a pattern
    done
    [ "$(perl "$lib/http.pl" "$address" GET "/?q=$(printf '%020000d' 0)")" -ge 400 ]
    get /
}

@test "each answer has the headers that keep other sites and caches out" {
    start_serve
    for target in / /nothing /style.css /script.js /icon.svg /metrics /api/ls.json; do
        perl "$lib/http.pl" "$address" GET $target
        for header in "Content-Security-Policy: default-src 'none'; style-src 'self'; \
script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
frame-ancestors 'none'" 'X-Content-Type-Options: nosniff' 'Referrer-Policy: no-referrer' \
            'Cache-Control: no-store' 'X-Frame-Options: DENY'; do
            grep -qF "$header" head || { echo "$target: no $header"; cat head; return 1; }
        done
        if grep -i access-control head; then return 1; fi
    done
}

@test "a page that was rebound to this machine gets nothing" {
    start_serve
    for host in evil.example evil.example:7420 127.0.0.1.evil.example localhost.evil.example \
        '[::2]' '' 127.evil.example; do
        status_is 421 GET /api/ls.json "Host: $host"
    done
    for host in localhost LOCALHOST:1 127.0.0.1 127.0.0.1:7420 127.1.2.3 '[::1]' '[::1]:7420'; do
        status_is 200 GET /api/ls.json "Host: $host"
    done
}

@test "an address that others can reach is refused, with advice, unless it is allowed" {
    for to in 0.0.0.0:0 '[::]:0' 192.0.2.1:7420 '[2001:db8::1]:7420'; do
        run --separate-stderr rowlock serve --listen "$to"
        [ "$status" = 64 ]
        [[ $stderr == *"listen on 127.0.0.1:${to##*:} or"* ]]
        [[ $stderr == *"--allow-remote"*"proxy"* || $stderr == *"proxy"*"--allow-remote"* ]]
    done
    start_serve --listen 0.0.0.0:0 --allow-remote
    address=127.0.0.1:${address##*:}
    status_is 200 GET / 'Host: rowlock.example'
}

@test "wrong addresses and arguments are refused" {
    for to in '' x 7420 :7420 127.0.0.1 127.0.0.1: 127.0.0.1:x 127.0.0.1:99999 ::1:7420 unix: \
        "unix:/$(printf '%0120d' 0)" example.org:7420; do
        run rowlock serve --listen "$to"
        [ "$status" = 64 ] || { echo "$to: $status $output"; return 1; }
    done
    run rowlock serve --listen 127.0.0.1:99999
    [[ $output == *'a port is a number from 1 to 65535'* ]]
    run rowlock serve name
    [ "$status" = 64 ]
    run rowlock --json serve
    [ "$status" = 64 ]
    start_serve
    run --separate-stderr rowlock serve --listen "$address"
    [ "$status" = 125 ]
    [[ $stderr == *"another program"* ]]
}

@test "IPv6, and a Unix socket with the permissions of the umask, which is removed at the end" {
    start_serve --listen unix:"$PWD/own"
    [ "$(stat -c %a own)" = 640 ]
    get /
    status_is 200 GET / 'Host: rowlock.example' # a browser cannot be led to a socket
    # another server is not pushed aside
    run --separate-stderr rowlock serve --listen unix:"$PWD/own"
    [ "$status" = 125 ]
    [[ $stderr == *"another program, perhaps another rowlock serve, listens there"* ]]
    stop_serve
    [ ! -e own ]
    (umask 007 && start_serve --listen unix:"$PWD/own" && echo "$server" >pid)
    all_started+=("$(cat pid)")
    [ "$(stat -c %a own)" = 660 ]
    # killed, it leaves the file, which the next one replaces
    kill -s KILL "$(cat pid)"
    until_true is_gone "$(cat pid)"
    [ -e own ]
    start_serve --listen unix:"$PWD/own"
    get /
    stop_serve
    echo precious >own
    run rowlock serve --listen unix:"$PWD/own"
    [ "$status" = 125 ]
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
    perl -e 'use Socket; socket my $s, AF_UNIX, SOCK_DGRAM, 0 or die;
        bind $s, pack_sockaddr_un("notify") or die; open my $r, ">", "listens"; close $r;
        open my $out, ">>", "datagrams"; $out->autoflush;
        while (defined recv $s, my $text, 65536, 0) { $text =~ tr/\n/ /; print $out "$text\n" }' \
        3>&- &
    all_started+=($!)
    until_true is_there listens
    NOTIFY_SOCKET=$PWD/notify WATCHDOG_USEC=200000 start_serve
    until_true grep -q '^READY=1 STATUS=serving on http://127.0.0.1:' datagrams
    until_true grep -q '^WATCHDOG=1$' datagrams
    stop_serve
    until_true grep -q '^STOPPING=1 ' datagrams
    [ "$(grep -c READY datagrams)" = 1 ]
}

@test "a database without rowlock's tables, or a wrong URL, ends it with the verbs' status" {
    run --separate-stderr "$ROWLOCK" --db nonsense://x serve --listen 127.0.0.1:0
    [ "$status" = 69 ]
    printf '%01000d' 0 >none.db
    run --separate-stderr "$ROWLOCK" --db sqlite:none.db serve --listen 127.0.0.1:0
    [ "$status" != 0 ]
    if [[ $stderr == *"serving on"* ]]; then return 1; fi
}

@test "a client that sends nothing, or half a request, does not keep others out" {
    start_serve
    for i in {1..20}; do
        perl -e 'use IO::Socket::IP; my $s = IO::Socket::IP->new(PeerAddr => $ARGV[0]) or die;
            print $s $ARGV[1]; $s->flush; open my $f, ">", "sent$ARGV[2]"; close $f; sleep 600' \
            "$address" "$([ $((i % 2)) = 0 ] || echo 'GET / HT')" "$i" 3>&- &
        all_started+=($!)
    done
    for i in {1..20}; do until_true is_there "sent$i"; done
    get /
    is_page
}
