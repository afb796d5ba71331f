#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Which database: each place is tried in turn; the SQLite file that appears tells which was taken.

load lib

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    unset ROWLOCK_URL ROWLOCK_URL_FILE
    here=$BATS_TEST_TMPDIR
    export HOME=$here/home XDG_CONFIG_HOME=$here/config XDG_STATE_HOME=$here/state
    mkdir -p home config/rowlock
}
put_url() { # FILE NAME: a URL file
    mkdir -p "$(dirname "$1")"
    echo "sqlite:$here/$2.db" >"$1"
    chmod 600 "$1"
}
taken() { # NAME: the database NAME.db, and no other
    "$ROWLOCK" "${@:2}" vacuum
    found=$(ls ./*.db)
    rm -f ./*.db ./*.db-*
    [ "$found" = "./$1.db" ]
}

@test "--db, ROWLOCK_URL, ROWLOCK_URL_FILE, the user's file, in this order" {
    put_url config/rowlock/url user
    taken user
    put_url other file
    export ROWLOCK_URL_FILE=$here/other
    taken file
    export ROWLOCK_URL=sqlite:$here/variable.db
    taken variable
    taken option --db "sqlite:$here/option.db"
}

@test "without XDG_CONFIG_HOME the user's file is in ~/.config" {
    unset XDG_CONFIG_HOME
    put_url home/.config/rowlock/url home
    taken home
    export XDG_CONFIG_HOME=relative
    taken home
}

@test "a file's first line that is neither empty nor a comment is the URL" {
    printf '# ours\n\n  \t sqlite:%s/line.db \r\nsqlite:/nowhere\n' "$here" >config/rowlock/url
    chmod 600 config/rowlock/url
    taken line
}

@test "a file that group or others can read or write is refused" {
    put_url config/rowlock/url user
    for mode in 604 644 620 660 602; do
        chmod "$mode" config/rowlock/url
        run "$ROWLOCK" vacuum
        [ "$status" = 64 ]
        [[ $output == *"config/rowlock/url"*"chmod 600"* ]]
        [ ! -e user.db ]
        ROWLOCK_URL_FILE=$here/config/rowlock/url XDG_CONFIG_HOME=$here run "$ROWLOCK" vacuum
        [ "$status" = 64 ]
        [ ! -e user.db ]
    done
    chmod 400 config/rowlock/url
    taken user
}

@test "a file that its group may read is taken if it is root's, and of nobody else" {
    put_url config/rowlock/url user
    chmod 640 config/rowlock/url
    private="unshare --user --map-root-user"
    if [ "$(id -u)" = 0 ]; then
        taken user
        chown 65534 config/rowlock/url
    elif $private true 2>/dev/null; then # where its owner is root
        $private "$ROWLOCK" vacuum
        [ -e user.db ]
        rm user.db*
    fi
    run "$ROWLOCK" vacuum
    [ "$status" = 64 ]
    [[ $output == *"config/rowlock/url"*"chmod 600"*"root:GROUP"*640* ]]
    [ ! -e user.db ]
}

@test "of a file that this user may not read it is said what it should be" {
    put_url config/rowlock/url user
    chmod 000 config/rowlock/url
    unprivileged=()
    if [ "$(id -u)" = 0 ]; then # who may read everything
        unprivileged=(setpriv --inh-caps=-all --bounding-set=-all --ambient-caps=-all)
        run "${unprivileged[@]}" true
        [ "$status" = 0 ] || skip "privileges cannot be given up"
    fi
    run "${unprivileged[@]}" "$ROWLOCK" vacuum
    [ "$status" = 64 ]
    [[ $output == *"config/rowlock/url"*"mode 600"*"root's"*"mode 640"* ]]
}

@test "a file that was named must be there, and hold a URL" {
    export ROWLOCK_URL_FILE=$here/nothing
    run "$ROWLOCK" vacuum
    [ "$status" = 64 ]
    [[ $output == *nothing* ]]
    (umask 077; echo '# no URL' >empty)
    export ROWLOCK_URL_FILE=$here/empty
    run "$ROWLOCK" vacuum
    [ "$status" = 64 ]
    [[ $output == *"no URL"* ]]
    export ROWLOCK_URL_FILE=$here
    run "$ROWLOCK" vacuum
    [ "$status" = 64 ]
    [ ! -e state ]
}

@test "what is set to nothing is refused: it must not become this machine's own" {
    put_url config/rowlock/url user
    for verb in vacuum ls "run a -- touch ran"; do
        # shellcheck disable=SC2086
        ROWLOCK_URL='' run "$ROWLOCK" $verb
        [ "$status" = 64 ]
        [[ $output == *"ROWLOCK_URL is set, but empty"*local* ]]
        # shellcheck disable=SC2086
        ROWLOCK_URL_FILE='' run "$ROWLOCK" $verb
        [ "$status" = 64 ]
        [[ $output == *"ROWLOCK_URL_FILE is set, but empty"* ]]
        # shellcheck disable=SC2086
        run "$ROWLOCK" --db '' $verb
        [ "$status" = 64 ]
        [[ $output == *"--db wants a URL"* ]]
    done
    [ ! -e user.db ]
    [ ! -e state ]
    [ ! -e ran ]
    ROWLOCK_URL='' ROWLOCK_URL_FILE='' taken option --db "sqlite:$here/option.db" # who says which is not asked
    ROWLOCK_URL_FILE='' ROWLOCK_URL=sqlite:$here/variable.db taken variable
}

@test "local: a file below XDG_STATE_HOME, in folders for its owner alone" {
    umask 000
    run "$ROWLOCK" vacuum
    [ "$status" = 0 ]
    [ -e state/rowlock/rowlock.db ]
    [ "$(stat -c %a state state/rowlock)" = $'700\n700' ]
    [ "$(stat -c %a state/rowlock/rowlock.db)" = 600 ]
    rm -r state
    export ROWLOCK_URL=local
    "$ROWLOCK" vacuum
    [ -e state/rowlock/rowlock.db ]
    rm -r state
    ROWLOCK_URL=sqlite:$here/other.db "$ROWLOCK" --db local vacuum
    [ -e state/rowlock/rowlock.db ]
    [ ! -e other.db ]
}

@test "local by default: everybody is told that it holds for this user on this machine only, once named nobody" {
    run "$ROWLOCK" demo --workers 1 --hold 0
    [ "$status" = 0 ]
    [[ $output == *"for this user on this machine only"* ]]
    run "$ROWLOCK" --db local demo --workers 1 --hold 0
    [ "$status" = 0 ]
    [[ $output != *"for this user on this machine only"* ]]
    # An operator whose ROWLOCK_URL was lost must not take "nothing is held" for the farm's answer.
    for verb in ls vacuum "break a" "schema install" "check a --token 1"; do
        # shellcheck disable=SC2086
        run "$ROWLOCK" $verb
        [[ $output == *"for this user on this machine only"* ]]
        # shellcheck disable=SC2086
        run "$ROWLOCK" --db local $verb
        [[ $output != *"for this user on this machine only"* ]]
    done
}

@test "without XDG_STATE_HOME: ~/.local/state, for root /var/lib; and the system's file" {
    # A private /etc and /var/lib, where this machine lets us have them.
    cat >inside <<'SH'
set -e
mount -t tmpfs tmpfs /var/lib
mount -t tmpfs tmpfs /etc
unset XDG_STATE_HOME
"$ROWLOCK" vacuum
[ -e /var/lib/rowlock/rowlock.db ]
rm -r /var/lib/rowlock
mkdir /etc/rowlock
echo "sqlite:$PWD/system.db" >/etc/rowlock/url
chmod 600 /etc/rowlock/url
"$ROWLOCK" vacuum
[ -e system.db ]
[ ! -e /var/lib/rowlock ]
chmod 644 /etc/rowlock/url
status=0
"$ROWLOCK" vacuum || status=$?
[ "$status" = 64 ]
SH
    private="unshare --user --map-root-user --mount"
    if $private true 2>/dev/null; then
        ROWLOCK=$ROWLOCK $private bash inside
    fi
    if [ "$(id -u)" != 0 ]; then
        unset XDG_STATE_HOME
        "$ROWLOCK" vacuum
        [ -e home/.local/state/rowlock/rowlock.db ]
    fi
}

@test "nowhere to be: 64" {
    [ "$(id -u)" != 0 ] || return 0
    unset XDG_STATE_HOME HOME XDG_CONFIG_HOME
    run "$ROWLOCK" vacuum
    [ "$status" = 64 ]
    [[ $output == *"--db"* ]]
}

@test "a scheme that nobody knows, a file that cannot be: 69, or 64 where it is no URL" {
    run "$ROWLOCK" --db nosuch://x vacuum
    [ "$status" = 69 ]
    run "$ROWLOCK" --db nothing vacuum
    [ "$status" = 64 ]
    run "$ROWLOCK" --db "sqlite:$here/no/folder/x.db" vacuum
    [ "$status" = 69 ]
}

fails_naming() { # SOURCE PLACE [ARGUMENT...]
    run "$ROWLOCK" "${@:3}" ls
    echo "$status: $output"
    [ "$status" = 69 ]
    [[ $output == *" (database: $1, $2)" ]]
    [[ $output != *secret* ]]
}

@test "who cannot connect reads where the URL came from, and which server that is" {
    dead="127.0.0.1:1/shop"
    for scheme in postgresql mariadb; do
        fails_naming --db "$scheme://$dead" --db "$scheme://app:secret@$dead"
        ROWLOCK_URL="$scheme://app:secret@$dead" fails_naming ROWLOCK_URL "$scheme://$dead"
        (umask 077; echo "$scheme://$dead" >elsewhere)
        ROWLOCK_URL_FILE=$here/elsewhere fails_naming "$here/elsewhere" "$scheme://$dead"
        (umask 077; echo "$scheme://$dead" >config/rowlock/url)
        fails_naming "$here/config/rowlock/url" "$scheme://$dead"
    done
    fails_naming --db 'postgresql://[::1]:1,127.0.0.1:1/shop' \
        --db 'postgresql://[::1]:1,127.0.0.1:1/shop?password=secret&user=app'
    fails_naming --db 'postgresql://...' --db 'postgresql://127.0.0.1:1/shop?user=app&password=secret@x'
    fails_naming --db sqlite:/no/such/folder --db sqlite:/no/such/folder
}

@test "what is no URL is answered with the forms, and nothing of it is repeated" {
    for url in nonsense-secret host=secret postgresql:/secret mariadb:/secret postgresql://h:secret/x \
        mariadb://h:secret/x; do
        run "$ROWLOCK" --db "$url" ls
        echo "$status: $output"
        [ "$status" = 64 ]
        [[ $output == *"://user"*"@host:port/database"*"(the URL is that of --db)" ]]
        [[ $output != *secret* ]]
        ROWLOCK_URL=$url run "$ROWLOCK" ls
        [[ $output == *"(the URL is that of ROWLOCK_URL)" ]]
    done
    run "$ROWLOCK" --db redis://h/x ls
    [ "$status" = 69 ]
    [[ $output == *"no driver for 'redis:'"*"postgresql://user@host:port/database"* ]]
}
