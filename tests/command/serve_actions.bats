#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# serve --allow-actions: the actions of an operator, their history, and the attempts of an attacker.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: sqlite/native

load lib
load serve.bash

start_acting() {
    write_users
    start_serve --allow-actions --users users "$@"
}
# post PATH BODY [HEADER...]: prints the status; with the cookie and token of log_in
cookie='' token=''
post() {
    local headers=('Content-Type: application/json')
    [ -z "$cookie" ] || headers+=("Cookie: $cookie")
    [ -z "$token" ] || headers+=("X-Rowlock-Token: $token")
    perl "$lib/http.pl" "$address" POST "$1" "${headers[@]}" "${@:3}" "body $2"
}
# gets STATUS PATH BODY [HEADER...]
gets() {
    local is
    is=$(post "${@:2}")
    [ "$is" = "$1" ] || { echo "$2 $3: $is, not $1"; cat head body; return 1; }
}
log_in() { # NAME PASSWORD
    cookie='' token=''
    gets 200 /api/login "{\"user\":\"$1\",\"password\":\"$2\"}"
    cookie=$(sed -n 's/^Set-Cookie: \([^;]*\);.*/\1/p' head)
    token=$(jq -r .token body)
}
token_of() { rowlock --json ls --name "$1" | jq '.[0].token'; } # NAME
past() { # FILTER: of the history
    rowlock --json log >past
    jq -e "$1" past >/dev/null || { cat past; return 1; }
}
is_there_no() { rowlock --json ls --name "$1" | jq -e '. == []' >/dev/null; } # NAME

@test "an operator breaks, holds and releases, and the history names who did it" {
    take one
    take two
    start_acting
    log_in ann secret
    gets 200 /api/break "{\"name\":\"one\",\"token\":$(token_of one),\"now\":true}"
    jq -e '. == {name: "one", broken: 1, by: "ann"}' body
    is_there_no one
    past '.[0] | .name == "one" and .how == "revoked" and (.broken_by | startswith("ann@"))'
    gets 200 /api/break '{"name":"two"}' # its holder would stop
    rowlock --json ls two | jq -e '.[0].stop'
    gets 404 /api/break '{"name":"one","now":false}'
    gets 200 /api/hold '{"name":"free","note":"new disks \u00fc \ud83d\udd12"}'
    held+=(free)
    rowlock --json ls free | jq -e '.[0] | .command == "hold by ann" and .pid == null and
        .expires == null and .note == "new disks ü 🔒"'
    gets 409 /api/hold '{"name":"free","note":"again"}'
    is_error 'held by'
    gets 404 /api/release '{"name":"free","token":"1"}'
    gets 200 /api/release "{\"name\":\"free\",\"token\":\"$(token_of free)\"}"
    is_there_no free
    past '.[0] | .name == "free" and .command == "hold by ann"'
    past '.[0].broken_by | startswith("ann@")'
    gets 200 /api/hold '{"name":"brief","note":"x","for":"1h"}'
    held+=(brief)
    rowlock --json ls brief | jq -e '.[0].expires'
    # a lease that a process keeps is not a hold
    start_rowlock run busy -- sleep 600
    until_true shows /api/ls.json 'any(.name == "busy")'
    gets 409 /api/release "{\"name\":\"busy\",\"token\":$(token_of busy)}"
    is_error 'a process works under it'
    # a hold of the command is one
    rowlock hold --note x other >/dev/null
    held+=(other)
    gets 200 /api/release "{\"name\":\"other\",\"token\":$(token_of other)}"
    is_there_no other
    grep -q "ann (127.0.0.1) broke 'one'" err
}

@test "an operator makes a job due, pauses and resumes it, and the history names who did it" {
    rowlock job nightly --every 50w -- true
    start_acting
    log_in ann secret
    gets 200 /api/run '{"name":"nightly"}'
    past 'map(select(.how == "due now")) | length == 1 and .[0].name == "job:nightly" and
        .[0].kind == "request" and (.[0].broken_by | startswith("ann@")) and .[0].problem == false'
    rowlock log --problems >list
    if grep 'due now' list; then return 1; fi
    rowlock job nightly --every 50w -- touch ran
    [ -e ran ]
    gets 200 /api/pause '{"name":"nightly","note":"the disk is full"}'
    held+=(job:nightly)
    until_true shows /api/jobs.json '.[0].state == "paused"'
    jq -e '.[0].paused_note == "the disk is full"' body
    gets 409 /api/run '{"name":"nightly"}'
    gets 409 /api/pause '{"name":"nightly","note":"x"}'
    gets 200 /api/resume "{\"name\":\"nightly\",\"token\":$(token_of job:nightly)}"
    until_true shows /api/jobs.json '.[0].state == "fine"'
    past '.[0] | .name == "job:nightly" and (.broken_by | startswith("ann@"))'
    gets 404 /api/run '{"name":"unknown"}'
    gets 404 /api/pause '{"name":"unknown","note":"x"}'
}

@test "without --allow-actions nothing can be changed, and without a login neither" {
    take one
    start_serve
    for path in break hold release run pause resume login logout; do
        gets 405 /api/$path '{"name":"one"}'
        status_is 404 GET /api/$path
    done
    shows /api/session.json '.actions == false and .password == false and .user == null'
    stop_serve
    start_acting
    for path in break hold release run pause resume logout; do
        gets 401 /api/$path '{"name":"one"}'
        status_is 405 GET /api/$path
        grep -q $'^Allow: POST\r' head
    done
    shows /api/session.json '.actions and .password and .user == null and .token == null'
    get $overview
    rowlock --json ls one | jq -e '.[0].stop == false'
}

@test "a viewer may log in, and not act; one who loses the role may not act either" {
    take one
    start_acting
    log_in vic look
    shows /api/session.json '.user == null'
    get /api/session.json "Cookie: $cookie"
    jq -e '.user == "vic" and .role == "viewer"' body
    gets 403 /api/break '{"name":"one"}'
    is_error operator
    log_in ann secret
    sed -i s/ann:operator/ann:viewer/ users
    gets 403 /api/break '{"name":"one"}'
    sed -i /ann/d users
    gets 403 /api/break '{"name":"one"}'
    rowlock --json ls one | jq -e '.[0].stop == false'
}

@test "sessions: a new secret for each login, strict cookies, none that a client has chosen" {
    local first
    start_acting
    log_in ann secret
    # browsers send a cookie to each port of a host
    local named=rowlock_session_${address##*:}
    grep -q "^Set-Cookie: $named=[0-9A-F]\{64\}; Path=/; HttpOnly; SameSite=Strict" head
    first=$cookie
    # so another server may have the cookie, which alone gets no token
    get /api/session.json "Cookie: $cookie"
    jq -e '.user == "ann" and .token == null' body
    get /api/session.json "Cookie: $cookie" "X-Rowlock-Token: ${token/[0-9]/x}"
    jq -e '.token == null' body
    get /api/session.json "Cookie: $cookie" "X-Rowlock-Token: $token"
    jq -e --arg it "$token" '.token == $it' body
    # the login of a browser that has a session, or a chosen one, begins another
    for cookie in "$first" "$named=$(printf '%064d' 7)"; do
        gets 200 /api/login '{"user":"ann","password":"secret"}'
        [ "$(sed -n 's/^Set-Cookie: \([^;]*\);.*/\1/p' head)" != "$cookie" ]
    done
    log_in ann secret
    # neither another session's token, nor none, nor a part of it
    local right=$token
    for token in '' "${right:0:63}" "${right}0" "${right/[0-9]/A}x"; do
        gets 403 /api/hold '{"name":"x","note":"x"}'
    done
    token=$right cookie=$first
    gets 403 /api/hold '{"name":"x","note":"x"}'
    for cookie in $named= "$named=$(printf '%064d' 7)" "rowlock_session=${first#*=}" other=1; do
        gets 401 /api/hold '{"name":"x","note":"x"}'
    done
    log_in ann secret
    gets 200 /api/logout '{}'
    grep -q "^Set-Cookie: $named=; .*Max-Age=0" head
    gets 401 /api/hold '{"name":"x","note":"x"}'
    gets 200 /api/login '{"user":"ann","password":"secret"}' 'Origin: https://localhost'
    grep -q '^Set-Cookie: .*; Secure' head
    # only a trusted proxy can state that for the browser
    gets 200 /api/login '{"user":"ann","password":"secret"}' 'X-Forwarded-Proto: https'
    if grep '; Secure' head; then return 1; fi
}

@test "a user's sessions do not end those of others, nor do the pages of another site" {
    start_acting --user-header X-Remote-User --proxy 127.0.0.1
    log_in ann secret
    local anns=$cookie first last
    get /api/session.json 'X-Remote-User: pat'
    first=$(sed -n 's/^Set-Cookie: \([^;]*\);.*/\1/p' head)
    printf '200 GET /api/session.json X-Remote-User: pat%.0s\n' {1..70} | answers
    last=$(sed -n 's/^Set-Cookie: \([^;]*\);.*/\1/p' head | tail -n 1)
    get /api/session.json "Cookie: $anns"
    jq -e '.user == "ann"' body
    get /api/session.json "Cookie: $last" 'X-Remote-User: pat' 'Sec-Fetch-Site: cross-site'
    jq -e '.user == "pat"' body
    get /api/session.json "Cookie: $first" 'X-Remote-User: pat' 'Sec-Fetch-Site: cross-site'
    jq -e '.user == null' body
    if grep Set-Cookie head; then return 1; fi
}

@test "a page of another site cannot act" {
    start_acting
    log_in ann secret
    local body='{"name":"x","note":"x"}'
    gets 403 /api/hold "$body" 'Sec-Fetch-Site: cross-site'
    gets 403 /api/hold "$body" 'Sec-Fetch-Site: same-site'
    gets 403 /api/hold "$body" 'Sec-Fetch-Site: none'
    gets 403 /api/hold "$body" 'Sec-Fetch-Site: same-origin' 'Sec-Fetch-Site: cross-site'
    gets 403 /api/hold "$body" 'Origin: http://evil.example'
    gets 403 /api/hold "$body" 'Origin: null'
    gets 403 /api/hold "$body" 'Origin: http://localhost.evil.example'
    gets 403 /api/login '{"user":"ann","password":"secret"}' 'Sec-Fetch-Site: cross-site'
    gets 421 /api/hold "$body" 'Host: evil.example'
    gets 200 /api/hold "$body" 'Sec-Fetch-Site: same-origin'
    held+=(x)
    status_is 405 OPTIONS /api/hold 'Origin: http://evil.example' \
        'Access-Control-Request-Method: POST'
    if grep -i access-control head; then return 1; fi
    # forms send other types
    local is
    for type in text/plain application/x-www-form-urlencoded 'multipart/form-data; boundary=x' \
        application/jsonx; do
        is=$(perl "$lib/http.pl" "$address" POST /api/hold "Cookie: $cookie" \
            "X-Rowlock-Token: $token" "Content-Type: $type" "body $body")
        [ "$is" = 415 ]
    done
}

@test "passwords cannot be guessed: five tries, then one a minute, for an unknown name too" {
    write_users
    echo "zoe:viewer:$(hash_of look)" >>users
    start_serve --allow-actions --users users
    local right='{"user":"ann","password":"secret"}'
    for _ in 1 2 3 4; do gets 401 /api/login '{"user":"ann","password":"wrong"}'; done
    gets 200 /api/login "$right" # which ends the row
    for _ in 1 2 3 4 5; do gets 401 /api/login '{"user":"ann","password":"wrong"}'; done
    gets 429 /api/login "$right"
    grep -q '^Retry-After: 60' head
    # others are not concerned; one in 4096 shares the count of ann
    gets 200 /api/login '{"user":"vic","password":"look"}' ||
        gets 200 /api/login '{"user":"zoe","password":"look"}'
    for name in pat unknown root none other; do
        gets 401 /api/login "{\"user\":\"$name\",\"password\":\"secret\"}"
    done
    for _ in 1 2 3 4 5; do gets 401 /api/login '{"user":"sixth","password":"secret"}'; done
    gets 429 /api/login '{"user":"sixth","password":"secret"}'
    # these are malformed, and not counted
    for _ in 1 2 3 4 5 6; do gets 400 /api/login '{"user":"","password":"secret"}'; done
    gets 400 /api/login '{"user":"vic","password":""}'
    gets 400 /api/login '{"user":"vic\n#","password":"look"}'
    if grep "failed login of '\(\|vic.*\)'" err; then return 1; fi
    gets 401 /api/login '{"user":"vic","password":"look "}'
    grep -q "failed login of 'ann' from 127.0.0.1" err
    if grep -E 'secret|wrong' err; then return 1; fi
}

@test "bodies: malformed, oversized, deep, doubled or with surprises are refused" {
    start_acting
    log_in ann secret
    local body
    for body in '[]' 'null' '{' '{"name"' '{"name":}' '{"name":"x"' '{"name":"x",}' '{"name":1}' \
        '{"name":["x"]}' '{"name":{"a":1}}' '{"name":"x"}x' '{"name":"x"}{"name":"y"}' \
        '{"name":"x","name":"y"}' '{"nom":"x"}' '{"name":"x","now":1}' '{"name":"x","now":"true"}' \
        '{"name":"x","token":-1}' '{"name":"x","token":1.5}' '{"name":"x","token":"x"}' \
        '{"name":"x","token":99999999999999999999}' '{"name":"\u0000"}' '{"name":"\ud800"}' \
        '{"name":"\udc00x"}' '{"name":"\q"}' '{"name":"\u12"}' $'{"name":"\n"}' \
        $'{"name":"\xff"}' \
        '{"name":""}' '{}' "{\"name\":\"$(printf '%0256d' 0)\"}"; do
        gets 400 /api/break "$body"
    done
    for body in '{"name":"x"}' '{"name":"x","note":" "}' '{"name":"x","note":"x","for":"0s"}' \
        '{"name":"x","note":"x","for":"never"}' \
        "{\"name\":\"x\",\"note\":\"$(printf '%01000d' 0)\"}"; do
        gets 400 /api/hold "$body"
    done
    gets 400 /api/run "{\"name\":\"$(printf '%0252d' 0)\"}"
    gets 400 /api/release '{"name":"x"}'
    local large
    large="{\"name\":\"x\",\"note\":\"$(printf '%04100d' 0)\"}"
    gets 413 /api/hold "$large"
    gets 413 /api/hold ''
    local is headers=("Cookie: $cookie" "X-Rowlock-Token: $token" 'Content-Type: application/json')
    is=$(perl "$lib/http.pl" "$address" POST /api/hold "${headers[@]}" 'Transfer-Encoding: chunked')
    [ "$is" = 413 ]
    gets 400 /api/hold '{"name":"x","note":"x"}' 'Content-Length: 4'
    for method in PUT DELETE PATCH; do
        is=$(perl "$lib/http.pl" "$address" $method /api/hold "${headers[@]}" 'body {}')
        [ "$is" = 405 ]
    done
    for path in /api/hold/ /api/hold/../break /api//hold /api/HOLD /api/hold%00 /api/%68old; do
        is=$(post "$path" '{"name":"x","note":"x"}')
        [[ $is = 40[45] || $path == */%68old ]] || { echo "$path: $is"; return 1; }
    done
    is_there_no x
    get $overview
}

@test "hostile names and notes arrive as they are" {
    start_acting
    log_in ann secret
    local name=$'<script>alert(1)</script>"\'\\\u202e\x01' quoted
    quoted=$(jq -n --arg it "$name" '$it')
    gets 200 /api/hold "{\"name\":$quoted,\"note\":$quoted}"
    held+=("$name")
    jq -e --arg it "$name" '.name == $it' body
    until_true shows /api/ls.json 'any(.name == $it and .note == $it)' --arg it "$name"
    if grep -P '[\x01]' err; then return 1; fi
}

@test "a proxy names the user, and no other client can" {
    write_users
    start_serve --allow-actions --users users --user-header X-Remote-User --proxy 127.0.0.1,::1
    get /api/session.json 'X-Remote-User: pat'
    jq -e '.user == "pat" and .role == "operator"' body
    cookie=$(sed -n 's/^Set-Cookie: \([^;]*\);.*/\1/p' head)
    token=$(jq -r .token body)
    if grep '; Secure' head; then return 1; fi
    get /api/session.json 'X-Remote-User: pat' 'X-Forwarded-Proto: https'
    grep -q '^Set-Cookie: .*; Secure' head
    gets 200 /api/hold '{"name":"x","note":"x"}' 'X-Remote-User: pat'
    held+=(x)
    rowlock --json ls x | jq -e '.[0].command == "hold by pat"'
    gets 401 /api/hold '{"name":"y","note":"x"}' 'X-Remote-User: vic' # another user by now
    gets 401 /api/hold '{"name":"y","note":"x"}' # the proxy names none
    get /api/session.json 'X-Remote-User: pat' 'X-Remote-User: ann'
    jq -e '.user == null' body
    for user in unknown 'a:b' '' '../x' "$(printf '%0100d' 0)"; do
        get /api/session.json "X-Remote-User: $user"
        jq -e '.user == null' body
    done
    get /api/session.json 'X_Remote_User: pat'
    jq -e '.user == null' body
    stop_serve
    start_serve --allow-actions --users users --user-header X-Remote-User --proxy 192.0.2.1,unix
    get /api/session.json 'X-Remote-User: pat'
    jq -e '.user == null' body
    stop_serve
    start_serve --listen unix:"$PWD/own" --allow-actions --users users \
        --user-header X-Remote-User --proxy unix
    get /api/session.json 'X-Remote-User: pat'
    jq -e '.user == "pat"' body
}

@test "a password from another machine is refused" {
    local own
    own=$(hostname -I | tr ' ' '\n' | grep -m 1 '^[0-9.]*$') || skip "no address but loopback"
    start_acting --listen 0.0.0.0:0 --allow-remote
    address=$own:${address##*:}
    gets 403 /api/login '{"user":"ann","password":"secret"}'
    is_error 'this machine only'
    shows /api/session.json '.password == false'
    address=127.0.0.1:${address##*:}
    log_in ann secret
}

@test "--require-login: without a login only the page itself is sent" {
    take one
    write_users
    start_serve --require-login --users users
    printf '401 GET %s\n' $overview /api/ls.json '/api/ls.json?old=1' /api/jobs.json \
        /api/subjects.json /api/log.json /timeline.svg /metrics | answers
    printf '200 GET %s\n' / /locks /style.css /script.js /icon.svg /api/session.json | answers
    log_in vic look
    for document in $overview /api/ls.json /metrics /timeline.svg; do
        get $document "Cookie: $cookie"
    done
    gets 405 /api/break '{"name":"one"}'
    gets 200 /api/logout '{}'
    status_is 401 GET $overview "Cookie: $cookie"
}

@test "wrong options, and files of users that others could change, are refused with the reason" {
    write_users
    refuses() { # TEXT OPTION...
        run -64 --separate-stderr rowlock serve --listen 127.0.0.1:0 "${@:2}"
        [[ $stderr == *"$1"* ]] || { echo "$stderr"; return 1; }
    }
    refuses '--users FILE is missing' --allow-actions
    refuses '--users FILE is missing' --require-login
    refuses 'has no effect' --users users
    refuses 'belong together' --allow-actions --users users --user-header X-User
    refuses 'belong together' --allow-actions --users users --proxy 127.0.0.1
    refuses 'is not an address' --allow-actions --users users --user-header X-User --proxy localhost
    refuses "'' has no address" --allow-actions --users users --user-header X-User --proxy ''
    refuses "',' has no address" --allow-actions --users users --user-header X-User --proxy ,
    refuses 'not the name of a header' --allow-actions --users users --user-header 'X:' \
        --proxy 127.0.0.1
    refuses 'cannot read' --allow-actions --users none
    chmod 640 users
    [ "$(id -u)" = 0 ] || refuses 'no other user may read' --allow-actions --users users
    chmod 644 users
    refuses 'no other user may read' --allow-actions --users users
    for line in x ann:operator 'ann:admin:-' ':viewer:-' 'a b:viewer:-' "ann:viewer:plain" \
        'ann:viewer:$1$abcdefgh$0123456789012345678901' "$(printf '%0600d' 0)"; do
        (umask 077 && rm -f users && echo "$line" >users)
        refuses 'line 1' --allow-actions --users users
    done
    (umask 077 && rm -f users && echo '#' >users)
    refuses 'has no user' --allow-actions --users users
}

@test "an order fails without a table, which no repetition mends, and works when it is back" {
    start_acting
    log_in ann secret
    put_away lease
    gets 500 /api/hold '{"name":"x","note":"x"}'
    put_back lease
    gets 200 /api/hold '{"name":"x","note":"x"}'
    held+=(x)
}
