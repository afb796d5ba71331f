#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The selection of the database: rowlock tries each source of a URL in turn. The SQLite file that
# appears shows which one it used.
# Runs on: once

# shellcheck disable=SC2086 # lists of words
load lib

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    unset ROWLOCK_URL ROWLOCK_URL_FILE
    here=$BATS_TEST_TMPDIR
    export HOME=$here/home XDG_CONFIG_HOME=$here/config XDG_STATE_HOME=$here/state
    mkdir -p home config/rowlock
    unprivileged=() # before a command: root may read everything
    [ "$(id -u)" != 0 ] ||
        unprivileged=(setpriv --inh-caps=-all --bounding-set=-all --ambient-caps=-all)
}
put_url() { # FILE NAME: writes a URL file
    mkdir -p "$(dirname "$1")"
    echo "sqlite:$here/$2.db" >"$1"
    chmod 600 "$1"
}
taken() { # NAME: checks that the database NAME.db was used, and no other
    "$ROWLOCK" "${@:2}" schema install
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
    printf '# ours\n\n  \t sqlite:%s/line.db \r\n \n  # sqlite:/nowhere\n' "$here" \
        >config/rowlock/url
    chmod 600 config/rowlock/url
    taken line
}

@test "a file with a second URL is refused, with its name and the line" {
    printf '# ours\nsqlite:%s/one.db\n\nsqlite:%s/two.db\n' "$here" "$here" >config/rowlock/url
    chmod 600 config/rowlock/url
    run -64 "$ROWLOCK" vacuum
    [[ $output == \
        *"config/rowlock/url' contains a second URL in line 4 (the first is in line 2)"* ]]
    [[ $output != *.db* ]]
    [ ! -e one.db ] && [ ! -e two.db ] && [ ! -e state ]
}

@test "two URLs, joined by a comma, are refused, and no password is shown" {
    for url in "sqlite:$here/a.db" postgresql://u:hidden@127.0.0.1/a mariadb://u:hidden@127.0.0.1/a
    do
        run -64 "$ROWLOCK" --db "$url,$url" run x -- true
        [[ $output == *"two URLs, joined by a comma: name one database"* && $output != *hidden* ]]
    done
    run ! ls ./*.db
    run "$ROWLOCK" --db 'postgresql://u@127.0.0.1:1,postgresql:1/a' ls # two hosts
    [[ $output != *"two URLs"* ]]
}

@test "an option of a URL that does not exist: the error states what is known, without the URL" {
    run -64 "$ROWLOCK" --db 'postgresql://u:hidden@127.0.0.1/a?conect_timeout=3' ls
    [[ $output == *"libpq does not know an option of the URL"*"as in ?connect_timeout=3"* ]]
    [[ $output != *hidden* ]]
    run "$ROWLOCK" --db 'mariadb://u:hidden@127.0.0.1/a?sll=1' ls
    [[ $output == *"unknown option; the known ones are socket, "* && $output != *hidden* ]]
}

# notes STATUS URL: run --verbose says that ROWLOCK_URL overrides the file; is_quiet: it does not
notes() {
    ROWLOCK_URL=$2 run "-$1" "$ROWLOCK" run --verbose x -- true && [[ $output == *"$note"* ]]
}
is_quiet() {
    ROWLOCK_URL=$2 run "-$1" "$ROWLOCK" run --verbose x -- true && [[ $output != *"$note"* ]]
}

@test "--verbose reports that ROWLOCK_URL overrides the file of another database" {
    put_url config/rowlock/url user
    note="ROWLOCK_URL counts; '$here/config/rowlock/url' names another database"
    export ROWLOCK_URL=sqlite:$here/variable.db
    for words in "run --verbose x -- true" "acquire --verbose --ttl 1h y" \
        "job --verbose j --every 1h -- true"; do
        run -0 "$ROWLOCK" $words
        [[ $output == *"$note"* ]]
    done
    run "$ROWLOCK" run x -- true
    [[ $output != *"$note"* ]]
    is_quiet 0 "sqlite:$here/user.db"
    is_quiet 0 "sqlite:$here/user.db?mode=rw"
    echo 'postgresql://app:secret@127.0.0.1:1/shop' >config/rowlock/url
    is_quiet 69 postgresql://127.0.0.1:1/shop
    is_quiet 69 'postgresql://root@127.0.0.1:1/shop?connect_timeout=3'
    notes 69 postgresql://127.0.0.1:1/other
    # the option of a server or database makes another one
    notes 69 'postgresql://127.0.0.1:1/shop?port=2'
    notes 69 'postgresql://127.0.0.1:1/shop?connect_timeout=3&dbname=other'
    export ROWLOCK_LIBJVM=/nonexistent # the URLs are compared before the database is opened
    echo 'jdbc:sqlserver://127.0.0.1:1;databaseName=shop;user=a' >config/rowlock/url
    is_quiet 69 'jdbc:sqlserver://127.0.0.1:1;DatabaseName=shop;user=b'
    notes 69 'jdbc:sqlserver://127.0.0.1:1;databaseName=other;user=a'
}

@test "a file that group or others can read or write is refused" {
    put_url config/rowlock/url user
    for mode in 604 644 620 660 602; do
        chmod "$mode" config/rowlock/url
        run -64 "$ROWLOCK" vacuum
        [[ $output == *"config/rowlock/url"*"chmod 600"* ]]
        [ ! -e user.db ]
        ROWLOCK_URL_FILE=$here/config/rowlock/url XDG_CONFIG_HOME=$here run -64 "$ROWLOCK" vacuum
        [ ! -e user.db ]
    done
    chmod 400 config/rowlock/url
    taken user
}

@test "a file that its group may read is accepted if it belongs to root, and from no other owner" {
    put_url config/rowlock/url user
    chmod 640 config/rowlock/url
    private="unshare --user --map-root-user"
    if [ "$(id -u)" = 0 ]; then
        taken user
        chown 65534 config/rowlock/url
    elif $private true 2>/dev/null; then # a folder that belongs to root
        $private "$ROWLOCK" schema install
        [ -e user.db ]
        rm user.db*
    fi
    run -64 "$ROWLOCK" vacuum
    [[ $output == *"config/rowlock/url"*"chmod 600"*"root:GROUP"*640* ]]
    [ ! -e user.db ]
}

@test "a file of another user is refused, also by root; one of root is accepted" {
    [ "$(id -u)" = 0 ] || skip "two users want root"
    put_url config/rowlock/url user
    chown 65534 config/rowlock/url
    for named in '' "$here/config/rowlock/url"; do
        ROWLOCK_URL_FILE=$named
        [ -z "$named" ] && unset ROWLOCK_URL_FILE || export ROWLOCK_URL_FILE
        run -64 "$ROWLOCK" vacuum
        [[ $output == *"config/rowlock/url' belongs to another user"*"this user or to root" ]]
        [ ! -e user.db ]
    done
    unset ROWLOCK_URL_FILE
    chown 0 config/rowlock/url
    taken user
}

@test "for an unreadable file the message states the required owner and mode" {
    put_url config/rowlock/url user
    chmod 000 config/rowlock/url
    "${unprivileged[@]}" true || skip "privileges cannot be given up"
    run -64 "${unprivileged[@]}" "$ROWLOCK" vacuum
    [[ $output == *"config/rowlock/url"*"mode 600"*"root's"*"mode 640"* ]]
}

@test "an explicitly named file must exist, and contain a URL" {
    export ROWLOCK_URL_FILE=$here/nothing
    run -64 "$ROWLOCK" vacuum
    [[ $output == *nothing* ]]
    (umask 077; echo '# no URL' >empty)
    export ROWLOCK_URL_FILE=$here/empty
    run -64 "$ROWLOCK" vacuum
    [[ $output == *"does not contain a URL"* ]]
    export ROWLOCK_URL_FILE=$here
    run -64 "$ROWLOCK" vacuum
    [ ! -e state ]
}

@test "an empty setting is refused: it must not select this machine's own database" {
    put_url config/rowlock/url user
    for verb in vacuum ls "run a -- touch ran"; do
        ROWLOCK_URL='' run -64 "$ROWLOCK" $verb
        [[ $output == *"ROWLOCK_URL is set, but empty"*local* ]]
        ROWLOCK_URL_FILE='' run -64 "$ROWLOCK" $verb
        [[ $output == *"ROWLOCK_URL_FILE is set, but empty"* ]]
        run -64 "$ROWLOCK" --db '' $verb
        [[ $output == *"--db requires a URL"* ]]
    done
    [ ! -e user.db ]
    [ ! -e state ]
    [ ! -e ran ]
    # an explicit URL needs no other source
    ROWLOCK_URL='' ROWLOCK_URL_FILE='' taken option --db "sqlite:$here/option.db"
    ROWLOCK_URL_FILE='' ROWLOCK_URL=sqlite:$here/variable.db taken variable
}

@test "local: a file below XDG_STATE_HOME, in folders that its owner alone can use" {
    umask 000
    run -0 "$ROWLOCK" vacuum
    [ -e state/rowlock/rowlock.db ]
    [ "$(stat -c %a state state/rowlock)" = $'700\n700' ]
    [ "$(stat -c %a state/rowlock/rowlock.db)" = 600 ]
    rm -r state
    export ROWLOCK_URL=local
    "$ROWLOCK" schema install
    [ -e state/rowlock/rowlock.db ]
    rm -r state
    ROWLOCK_URL=sqlite:$here/other.db "$ROWLOCK" --db local schema install
    [ -e state/rowlock/rowlock.db ]
    [ ! -e other.db ]
}

@test "local by default: a warning that it holds for this user on this machine; none if named" {
    run -0 "$ROWLOCK" demo --workers 1 --hold 0
    [[ $output == *"for this user on this machine only"* ]]
    run -0 "$ROWLOCK" --db local demo --workers 1 --hold 0
    [[ $output != *"for this user on this machine only"* ]]
    # An operator without ROWLOCK_URL must not mistake "nothing is held" for the farm's answer.
    for verb in ls vacuum "break a" "schema install" "check a --token 1"; do
        run "$ROWLOCK" $verb
        [[ $output == *"for this user on this machine only"* ]]
        run "$ROWLOCK" --db local $verb
        [[ $output != *"for this user on this machine only"* ]]
    done
}

@test "without XDG_STATE_HOME: ~/.local/state, for root /var/lib; and the system's file" {
    # A private /etc and /var/lib, if this machine permits it.
    cat >inside <<'SH'
set -e
mount -t tmpfs tmpfs /var/lib
mount -t tmpfs tmpfs /etc
unset XDG_STATE_HOME
"$ROWLOCK" schema install
[ -e /var/lib/rowlock/rowlock.db ]
rm -r /var/lib/rowlock
mkdir /etc/rowlock
echo "sqlite:$PWD/system.db" >/etc/rowlock/url
chmod 600 /etc/rowlock/url
"$ROWLOCK" schema install
[ -e system.db ]
[ ! -e /var/lib/rowlock ]
chmod 644 /etc/rowlock/url
status=0
"$ROWLOCK" vacuum || status=$?
[ "$status" = 64 ]
rm /etc/rowlock/url system.db
: >/etc/rowlock/require-url
status=0
"$ROWLOCK" run a -- touch ran 2>required || status=$?
[ "$status" = 64 ]
grep -q 'no database was named, and the file /etc/rowlock/require-url requires one' required
[ ! -e ran ]
[ ! -e /var/lib/rowlock ]
"$ROWLOCK" --db local run a -- touch ran
[ -e ran ]
SH
    private="unshare --user --map-root-user --mount"
    if $private true 2>/dev/null; then
        ROWLOCK=$ROWLOCK $private bash inside
    fi
    if [ "$(id -u)" != 0 ]; then
        unset XDG_STATE_HOME
        "$ROWLOCK" schema install
        [ -e home/.local/state/rowlock/rowlock.db ]
    fi
}

@test "ROWLOCK_REQUIRE_URL: without a URL every verb refuses, and leaves no file" {
    export ROWLOCK_REQUIRE_URL=1
    for verb in ls vacuum "run a -- touch ran" "run -q a -- touch ran" "acquire --ttl 1m a" \
        "use a -- touch ran" \
        "next a" "schema install" "jobs" "job a --every 1h -- touch ran"; do
        runs 64 "$ROWLOCK" $verb
        [[ $output == *"no database was named, and ROWLOCK_REQUIRE_URL is set"*"--db"*"'local'"* ]]
    done
    [ ! -e ran ]
    [ ! -e state ]
    "$ROWLOCK" --db local run a -- touch ran
    [ -e ran ]
    put_url config/rowlock/url user
    taken user
    rm config/rowlock/url
    for off in "" 0; do
        rm -r state
        ROWLOCK_REQUIRE_URL=$off run -0 "$ROWLOCK" vacuum
        [ -e state/rowlock/rowlock.db ]
    done
}

@test "verbs that count or refresh for a whole farm refuse without a URL" {
    for verb in "next a" "refresh a --max-age 0 -- touch ran" "expire a" \
        "use a --max-age 0 --refresh true -- touch ran" "job a --every 1h -- touch ran"; do
        runs 64 "$ROWLOCK" $verb
        [[ $output == "rowlock: ${verb%% *}: no database was named"*"--db"*"'local'"* ]]
        [ ! -e ran ]
        [ ! -e state ]
        run -0 "$ROWLOCK" --db local $verb
        [[ $verb != *touch* ]] || [ -e ran ]
        rm -rf state ran
    done
    echo 'every 50w a -- touch ran' >tab
    run -64 timeout 60 "$ROWLOCK" cron tab
    [[ $output == "rowlock: cron: no database was named"*"--db"*"'local'"* ]]
    [ ! -e ran ] && [ ! -e state ]
}

@test "a lock is only local: run warns, and -q does not hide it" {
    run -0 "$ROWLOCK" run a -- echo fine
    [[ ${lines[0]} == *"for this user on this machine only" ]]
    [ "${lines[1]}" = fine ]
    rm -rf state
    for verb in "run -q a -- true" "run --quiet -n a -- true" "acquire -q --ttl 1s a" \
        "use -q a -- true" \
        "hold -q --for 1s --note x b"; do
        runs 0 "$ROWLOCK" $verb
        [[ $output == *"for this user on this machine only"* ]]
        rm -rf state
    done
}

@test "an error about the default database names it as the default" {
    mkdir -p state/rowlock/rowlock.db # a folder in the place of the file
    run -69 "$ROWLOCK" vacuum
    [[ $output == *"(database: default, sqlite:$here/state/rowlock/rowlock.db)" ]]
    ROWLOCK_URL=local run "$ROWLOCK" vacuum
    [[ $output == *"(database: ROWLOCK_URL, sqlite:$here/state/rowlock/rowlock.db)" ]]
}

@test "an advised command needs --db again, if the URL came from it" {
    sqlite3 plain.db "CREATE TABLE t (a)"
    run -69 "$ROWLOCK" --db "sqlite:$here/plain.db" ls
    [[ $output == *"run: rowlock schema install"*", with this --db (database: --db, sqlite:"* ]]
    ROWLOCK_URL=sqlite:$here/plain.db run -69 "$ROWLOCK" ls
    [[ $output == *"run: rowlock schema install"*"(database: ROWLOCK_URL, sqlite:"* ]]
    [[ $output != *"with this --db"* ]]
}

@test "a folder that cannot be created: the reason is correct" {
    unset XDG_STATE_HOME
    chmod 500 home
    XDG_STATE_HOME=$here/home/state run -69 "${unprivileged[@]}" "$ROWLOCK" vacuum
    [[ $output == \
        *"the folder '$here/home/state' cannot be created: Permission denied; name a database"* ]]
}

@test "no home folder: 64" {
    [ "$(id -u)" != 0 ] || return 0
    unset XDG_STATE_HOME HOME XDG_CONFIG_HOME
    run -64 "$ROWLOCK" vacuum
    [[ $output == *"--db"* ]]
}

@test "a verb that only reads or ends locks creates no SQLite file" {
    for words in ls "ls a" "ls --tree" log top jobs "jobs --check" "jobs a --now" subjects metrics \
        vacuum "break a" "break --now a" "expire a" "renew a --token 1" "release a --token 1" \
        "check a --token 1" "schema upgrade" "schema uninstall" "schema set history all" \
        "serve --listen unix:$here/socket"; do
        runs 69 timeout 60 "$ROWLOCK" --db "sqlite:$here/mistyped.db" $words
        [[ $words == metrics || ${#lines[@]} = 1 ]] # it prints rowlock_up 0 too
        [[ $output == "rowlock: '$here/mistyped.db' does not exist: "*"correct the URL"* ]]
        [[ $output != *mode=rw* ]]
        [ ! -e mistyped.db ]
    done
    run "$ROWLOCK" --db "sqlite:$here/mistyped.db" ls
    [[ $output == *", or create the file: rowlock --db "* ]]
    advice=${output##*create the file: }
    PATH=$(dirname "$ROWLOCK"):$PATH sh -c "${advice% (database: *}" # the other advice
    "$ROWLOCK" --db "sqlite:$here/mistyped.db" ls
}

@test "a verb that acquires creates the SQLite file, unless the URL has ?mode=rw" {
    for words in "run a -- true" "acquire --ttl 1h a" "hold a --note n --for 1h" "next a" \
        "job a --every 1h -- true" "refresh a --max-age 1h -- true" "schema install"; do
        runs 69 "$ROWLOCK" --db "sqlite:$here/new.db?mode=rw" $words
        [[ $output == *"does not exist"* ]]
        [ ! -e new.db ]
        "$ROWLOCK" --db "sqlite:$here/new.db" $words
        [ -s new.db ]
        rm -f new.db*
    done
    run -69 "$ROWLOCK" --db "sqlite:$here/new.db?mode=rw" doctor --only server
    [[ $output == "FAIL  server "*"does not exist"* ]]
    "$ROWLOCK" --db "sqlite:$here/new.db" schema install
    run "$ROWLOCK" --db "sqlite:$here/new.db?mode=rw" doctor --only server
    [[ $output == "ok "* ]]
    run -64 "$ROWLOCK" --db "sqlite:$here/new.db?mode=rwc" run a -- true
    [[ $output == *"?mode=rw"* ]]
}

@test "the local file is rowlock's own: a list of it is empty before the first lock" {
    run -0 "$ROWLOCK" --db local --json ls
    [ "$output" = "[]" ]
    rm -r state
    run -1 "$ROWLOCK" --db local break a
    [[ $output == "rowlock: no lease of 'a' is held"* ]]
}

fails_naming() { # SOURCE PLACE [ARGUMENT...]
    run -69 "$ROWLOCK" "${@:3}" ls
    [[ $output == *" (database: $1, $2)" ]]
    [[ $output != *secret* ]]
}

@test "a failed connection names the source of the URL, and the server" {
    dead="127.0.0.1:1/shop"
    for scheme in postgresql mariadb; do
        fails_naming --db "$scheme://app@$dead" --db "$scheme://app:secret@$dead"
        ROWLOCK_URL="$scheme://app@$dead" fails_naming ROWLOCK_URL "$scheme://app@$dead"
        (umask 077; echo "$scheme://$dead" >elsewhere)
        ROWLOCK_URL_FILE=$here/elsewhere fails_naming "$here/elsewhere" "$scheme://$dead"
        (umask 077; echo "$scheme://$dead" >config/rowlock/url)
        fails_naming "$here/config/rowlock/url" "$scheme://$dead"
    done
    fails_naming --db 'postgresql://[::1]:1,127.0.0.1:1/shop' \
        --db 'postgresql://[::1]:1,127.0.0.1:1/shop?password=secret&user=app'
    fails_naming --db "postgresql://$dead" --db "postgresql://a%40b:secret@$dead"
    fails_naming --db 'postgresql://...' \
        --db 'postgresql://127.0.0.1:1/shop?user=app&password=secret@x'
    fails_naming --db sqlite:/no/such/folder --db sqlite:/no/such/folder
}

@test "for text that is not a URL the message shows the valid forms, and repeats nothing of it" {
    for url in nonsense-secret host=secret postgresql:/secret mariadb:/secret \
        postgresql://h:secret/x \
        mariadb://h:secret/x; do
        run -64 "$ROWLOCK" --db "$url" ls
        [[ $output == *"://user"*"@host:port/database"*"(the URL is that of --db)" ]]
        [[ $output != *secret* ]]
        ROWLOCK_URL=$url run "$ROWLOCK" ls
        [[ $output == *"(the URL is that of ROWLOCK_URL)" ]]
    done
    run -69 "$ROWLOCK" --db redis://h/x ls
    [[ $output == *"no driver for 'redis:'"*"postgresql://user@host:port/database"* ]]
}

@test "a byte order mark or a no-break space in a URL is named" {
    printf '\357\273\277postgresql://a@127.0.0.1/b\n' >file
    chmod 600 file
    ROWLOCK_URL_FILE=file runs 64 "$ROWLOCK" ls
    [[ $output == *"the URL contains a byte order mark (U+FEFF): remove it"* ]]
    runs 64 "$ROWLOCK" --db $'mariadb://a:secret@127.0.0.1/b\xc2\xa0' ls
    [[ $output == *"the URL contains a no-break space (U+00A0): remove it"* ]]
    [[ $output != *secret* ]]
    runs 69 "$ROWLOCK" --db $'\xef\xbb\xbfsqlite:a.db' ls
    [[ $output == *"contains a byte order mark (U+FEFF)"* ]]
    runs 0 "$ROWLOCK" --db $'sqlite:a\xc2\xa0b.db' schema install
    runs 64 "$ROWLOCK" --db sqlite:a.db run -w $'5s\xc2\xa0' x -- true
    [[ $output == *"; it contains a no-break space (U+00A0)"* ]]
    runs 64 "$ROWLOCK" --db sqlite:a.db job x --cron $'0 4\xc2\xa0* * *' -- true
    [[ $output == *"; it contains a no-break space (U+00A0)"* ]]
}

@test "every list of URLs has every scheme" {
    local source=$BATS_TEST_DIRNAME/../..
    for scheme in sqlite: postgresql:// mariadb:// odbc: jdbc:; do
        [[ $("$ROWLOCK" --help) == *" $scheme"* ]]
        [[ $("$ROWLOCK" --db nonsense ls 2>&1) == *" $scheme"* ]]
        [[ $("$ROWLOCK" --db redis://h/x ls 2>&1) == *" $scheme"* ]]
        grep -q "^$scheme" "$source/man/rowlock.1"
        grep -qE -- "--db\) words=.*[\" ]$scheme" "$source/completion/rowlock.in"
        grep -q "^ \*.* $scheme" "$source/include/rowlock.h"
    done
}

# While -w lasts, rowlock waits for an unreachable database; errors that waiting cannot cure end it
# at once. Otherwise the test's time limit would end the test.
does_not_wait() { # TEXT COMMAND...
    local text=$1
    shift
    run -69 "$@" run -w 1d a -- touch ran
    [[ $output != *"waiting for it"* ]]
    [[ $output == *"$text"* ]]
    [ ! -e ran ]
}

@test "a wrong SQLite path causes no wait" {
    mkdir folder sealed closed
    does_not_wait "'$here/folder' cannot be opened: Is a directory; name a file in it" \
        "$ROWLOCK" --db "sqlite:$here/folder"
    does_not_wait \
        "'$here/no/x.db' cannot be created: No such file or directory; its folder must exist" \
        "$ROWLOCK" --db "sqlite:$here/no/x.db"
    "$ROWLOCK" --db "sqlite:$here/file.db" schema install
    does_not_wait "Not a directory" "$ROWLOCK" --db "sqlite:$here/file.db/x.db"
    ln -s loop loop
    does_not_wait "symbolic links" "$ROWLOCK" --db "sqlite:$here/loop"
    "$ROWLOCK" --db "sqlite:$here/sealed/x.db" schema install
    rm -f sealed/x.db-*
    chmod 500 sealed closed
    does_not_wait "the file or its folder is read-only" \
        "${unprivileged[@]}" "$ROWLOCK" --db "sqlite:$here/sealed/x.db"
    does_not_wait "'$here/closed/x.db' cannot be created: Permission denied" \
        "${unprivileged[@]}" "$ROWLOCK" --db "sqlite:$here/closed/x.db"
    chmod 000 file.db
    does_not_wait "'$here/file.db' cannot be opened: Permission denied" \
        "${unprivileged[@]}" "$ROWLOCK" --db "sqlite:$here/file.db"
    chmod 400 file.db
    does_not_wait "read-only" "${unprivileged[@]}" "$ROWLOCK" --db "sqlite:$here/file.db"
    head -c 4096 /dev/urandom >noise.db
    run -64 "$ROWLOCK" --db "sqlite:$here/noise.db" run -w 1d a -- true
    [[ $output == *"not a"*"database"* ]]
}

@test "a server that refuses causes no wait: missing database, wrong password, no TLS" {
    postgresql=${ROWLOCK_TEST_POSTGRESQL%/*} mariadb=${ROWLOCK_TEST_MARIADB%/*}
    does_not_wait "nosuch" "$ROWLOCK" --db "$postgresql/nosuch"
    does_not_wait "SSL" "$ROWLOCK" --db "$ROWLOCK_TEST_POSTGRESQL?sslmode=require"
    does_not_wait "nosuch" "$ROWLOCK" --db "${postgresql/tester/nosuch}/x"
    does_not_wait "test_nosuch" "$ROWLOCK" --db "$mariadb/test_nosuch"
    does_not_wait "reads it from an option file: ?default-file=/PATH/my.cnf" \
        "$ROWLOCK" --db "${ROWLOCK_TEST_MARIADB/secret/wrong}"
    does_not_wait "does not offer TLS" "$ROWLOCK" --db "$ROWLOCK_TEST_MARIADB?ssl=true"
}

@test "an option file that cannot be read is refused" {
    run -64 "$ROWLOCK" --db "$ROWLOCK_TEST_MARIADB?default-file=$here/my.cnf" ls
    [[ $output == *"the option file $here/my.cnf cannot be read: No such file"* ]]
}

@test "a file in which another program has a name of rowlock: the message names no source file" {
    sqlite3 foreign.db "CREATE TABLE other(x); CREATE INDEX rowlock_lease ON other(x)"
    run -125 "$ROWLOCK" --db "sqlite:$here/foreign.db" schema install
    [[ $output == "rowlock: the schema's part 'install': "*rowlock_lease* ]]
}
