# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For the tests of serve: starts it, and asks it.

lib=$BATS_TEST_DIRNAME/../lib

# A build without libmicrohttpd has no pages to test.
need_serve() {
    run --separate-stderr "$ROWLOCK" serve --listen x
    [[ $stderr == *"this build lacks serve"* ]] || return 0
    [ -z "${CI:-}" ] || { echo "this build lacks serve: install libmicrohttpd-dev"; return 1; }
    skip "this build lacks serve: install libmicrohttpd-dev"
}
setup_file() {
    install_technique
    need_serve
}
serves() { grep -q 'serving on' err; }
# start_serve [OPTION...]: on any free port; sets server, its pid, and address
start_serve() {
    : >err
    start_rowlock serve --listen 127.0.0.1:0 "$@"
    server=$started
    until_true serves
    address=$(sed -n 's|.*serving on http://\(.*\)/$|\1|p; s|.*serving on \(unix:.*\)|\1|p' err)
}
stop_serve() { # with success
    kill -s TERM "$server"
    wait "$server"
}
# get TARGET [HEADER...]: the answer is in the files head and body; checks for 200
get() { status_is 200 GET "$@"; }
status_is() { # STATUS METHOD TARGET [HEADER...]
    local is
    is=$(perl "$lib/http.pl" "$address" "${@:2}")
    [ "$is" = "$1" ] || { echo "$3: $is, not $1"; head -c 600 body; return 1; }
}
# As status_is. libmicrohttpd answers a request that is too long before it has read everything, and
# closes: the answer may be lost.
refuses_unread() {
    local is
    is=$(perl "$lib/http.pl" "$address" "${@:2}")
    [ "$is" = "$1" ] || [ "$is" = none ] || { echo "$3: $is, not $1"; return 1; }
}
# Standard input has lines `STATUS METHOD TARGET[ HEADER]`
answers() { perl "$lib/http.pl" "$address" requests; }
is_page() { cmp "$BATS_TEST_DIRNAME/../../src/show/serve/assets/index.html" body; }
is_error() { # TEXT: the body is an object with an error that contains the text
    jq -e --arg text "$1" 'keys == ["error"] and (.error | contains($text))' body >/dev/null ||
        { cat body; return 1; }
}
overview=/api/overview.json
shows() { # TARGET FILTER [ARGUMENT...]: the filter of jq is true for the document
    get "$1" && jq -e "${@:3}" "$2" body >/dev/null
}
shows_not() { get "$1" && ! jq -e "${@:3}" "$2" body >/dev/null; }
encoded() { # TEXT
    perl -e 'print map { sprintf "%%%02x", ord } split //, $ARGV[0]' "$1"
}
# same TARGET ARGUMENT...: the document equals the output of the verb, except for the ages
same() {
    rowlock --json "${@:2}" >expected || [ $? = 1 ]
    get "$1" || return 1
    sed -i 's/"age_ms":[0-9]*/"age_ms":0/' expected body
    cmp expected body
}
# For --users: ann, an operator, vic, a viewer, and pat, an operator without a password. The hashes
# are of sha512crypt, which every system's crypt() knows.
write_users() {
    (umask 077 && cat >users) <<USERS
# name:role:hash
ann:operator:$(hash_of secret)
vic:viewer:$(hash_of look)
pat:operator:-
USERS
}
# shellcheck disable=SC2016 # the text of perl
hash_of() { perl -e 'print crypt($ARGV[0], q($6$rounds=1000$somesalt))' "$1"; } # PASSWORD
held=() # by take
teardown() {
    local name
    end_started TERM
    for name in "${held[@]}"; do rowlock break --now "$name"; done
    sql "DELETE FROM ${ours}job; DELETE FROM ${ours}run"
}
take() { # NAME [OPTION...]: a lease that ends with the test
    held+=("$1")
    rowlock acquire --ttl 1h --name "$1" "${@:2}"
}
