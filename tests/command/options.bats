#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Verbs, options, usage, help, manual page and completion: everything that needs no server.

# shellcheck disable=SC2086 # lists of words
load lib

setup_file() { # the help of each verb, once: the tests read it many times
    cd "$BATS_FILE_TMPDIR" || return 1
    "$ROWLOCK" help >all
    sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' all >verbs
    for verb in $(verbs); do "$ROWLOCK" help "$verb" >"of-$verb"; done
    # A completion gives up after a second, which may be too short on a busy machine.
    mkdir unlimited
    printf '#!/bin/sh\nshift\nexec "$@"\n' >unlimited/timeout
    chmod +x unlimited/timeout
    export PATH="$PWD/unlimited:$PATH"
}
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    export ROWLOCK_TEST_URL="sqlite:$BATS_TEST_TMPDIR/test.db"
    source_folder=$BATS_TEST_DIRNAME/../..
}
verbs() { cat "$BATS_FILE_TMPDIR/verbs"; }
help_of() { cat "$BATS_FILE_TMPDIR/${1:+of-}${1:-all}"; } # [VERB]
long_options() { grep -oE -- '(^|[ ,])--[a-z][a-z-]+' | tr -d ' ,' | sort -u; }
refused() { # WORD ARGUMENT...: exits with 64, a message that contains WORD, and the usage
    local word=$1
    shift
    runs 64 "$ROWLOCK" "$@"
    [ "${#lines[@]}" = 2 ]
    [[ ${lines[0]} == "rowlock: "*"$word"* ]]
    [[ ${lines[1]} == "usage: rowlock "* ]]
}

@test "global options come before the verb or after it" {
    "$ROWLOCK" --db "$ROWLOCK_TEST_URL" schema install
    for words in "--db $ROWLOCK_TEST_URL --json vacuum" "vacuum --db $ROWLOCK_TEST_URL --json" \
        "--json vacuum --db=$ROWLOCK_TEST_URL" "--db=$ROWLOCK_TEST_URL vacuum --json"; do
        run -0 "$ROWLOCK" $words
        [ "$output" = '{"removed":0}' ]
    done
}

@test "every mistake has a message, with the usage, and status 64" {
    refused "verb" 
    refused "'nosuch'" nosuch
    refused "'--nosuch'" --nosuch
    refused "'--nosuch'" vacuum --nosuch
    refused "'--nosuch'" vacuum --nosuch=3
    refused "'-z'" vacuum -z
    refused "'-z'" demo --workers 2 -zn
    refused "--db" vacuum --db
    refused "--db" --db "" vacuum
    refused "'--json' takes no value" vacuum --json=1
    refused "unexpected argument" vacuum word
    refused "unexpected argument" vacuum -- word
    refused "--workers" demo --workers 0
    refused "--workers" demo --workers many
    refused "--hold" demo --hold soon
    refused "requires a value" demo --hold
    refused "'nosuch'" schema nosuch
    refused "install" schema
    refused "--technique" schema install --technique nosuch
    refused "--role" schema install --role x
    refused "--table" schema uninstall --table x
    refused "'nosuch'" help nosuch
}

@test "leases: every mistake has a message, with the right command" {
    refused "NAME" acquire --ttl 5m
    refused "--ttl 5m" acquire a
    refused "--ttl: a lease lasts 1s at least" acquire --ttl 0.5s a
    refused "--ttl" acquire --ttl soon a
    refused "number from 1" acquire --ttl 5m --limit 0 a
    refused "one NAME" acquire --ttl 5m --limit 2 a b
    refused "neither -x nor -s" acquire --ttl 5m --limit 2 -s a
    refused "--while-pid" acquire --while-pid 0 a
    refused "--while-pid" acquire --while-pid self a
    refused "in a script \$\$" acquire --while-pid 0 a
    refused "in a script \$\$" acquire --while-pid 1 a
    refused "in a script \$\$" acquire --while-pid -7 a
    ROWLOCK=sh refused "rowlock itself" -c "exec '$ROWLOCK' acquire --while-pid \$\$ a"
    refused "UTF-8" acquire --ttl 5m --note $'\xff' a
    for verb in renew release check; do
        refused "NAME" "$verb" --token 1
        refused "--token T is missing" "$verb" a
        refused "'rowlock ls a'" "$verb" a
        refused "not a token" "$verb" a --token x
        refused "not a token" "$verb" a --token 0
        refused "only one NAME is allowed: unexpected 'b'" "$verb" a b --token 1
        refused "empty" "$verb" "" --token 1
    done
    refused "--ttl" renew a --token 1 --ttl 1ms
    refused "NAME" hold --for 1h --note x
    refused "--note TEXT is missing" hold a
    refused "--note" hold a --for 1h
    refused "--note" hold a --for 1h --note ""
    refused "--for: a lease lasts 1s at least" hold a --for 1ms --note x
    refused "--for: a lease lasts 100 years at most" hold a --for 9999w --note x
    refused "--ttl: a lease lasts 100 years at most" acquire a --ttl 9999w
    refused "--ttl: a lease lasts 100 years at most" renew a --token 1 --ttl 9999w
    [ ! -e test.db ]
    refused "unexpected" hold a b --for 1h --note x
    refused "unexpected" ls a b
    refused "NAME" break
    refused "not a token" break a --token x
    refused "unexpected" break a b
}

@test "run: every mistake has a message" {
    refused "NAME" run --tx -- true
    refused "command is missing" run --tx a
    refused "command is missing" run --tx a --
    refused "exclude each other" run --tx a -c true -- true
    refused "empty" run --tx "" -- true
    refused "UTF-8" run --tx $'\xff' -- true
    refused "255 bytes" run --tx "$(printf 'x%.0s' {1..256})" -- true
    refused "--wait" run --tx -w soon a -- true
    refused "--wait" run --tx -w -1 a -- true
    refused "--conflict-exit-code" run --tx -E 256 a -- true
    refused "--kill-after" run --tx --kill-after x a -- true
    refused "--max-run" run --max-run 0 a -- true
    refused "is not a duration" run --max-run soon a -- true
    refused "--limit" run --tx --limit 2 a -- true
    refused "--ttl" run --tx --ttl 5s a -- true
    refused "--note" run --tx --note x a -- true
    refused "exclude each other" run -n -w 3 a -- true
    refused "exclude each other" run -w 3 --nonblock a -- true
    refused "exclude each other" acquire --ttl 1m -n -w 0 a
    refused "exclude each other" hold --for 1m --note x --timeout 3 --nb a
    refused "-c is given twice" run a -c true -c true
    refused "'extra' follows the command of -c" run a -c true extra
    refused "exclude each other" run a -c pg_dump -- -Fc
    [ ! -e test.db ]
}

@test "refresh, use, expire, subjects: every mistake has a message" {
    refused "--max-age is missing" refresh cache -- true
    refused "command is missing" refresh cache --max-age 1h
    refused "SUBJECT is missing" refresh --max-age 1h -- true
    refused "one SUBJECT" refresh a b --max-age 1h -- true
    refused "go together" use a --max-age 1h -- true
    refused "go together" use a --refresh true -- true
    refused "--refresh: its command is one word" use a --refresh -- x
    refused "247" refresh "$(printf 's%.0s' {1..248})" --max-age 1h -- true
    refused "max-age" refresh cache --max-age soon -- true
    refused "" expire
    refused "" expire a b
    refused "" subjects a b
}

@test "run: names come before -c, or after it, not on both sides" {
    for words in "one two -c" "-c"; do
        run -0 rowlock run $words 'printf "%s," $ROWLOCK_NAME' $([ "$words" != -c ] || echo one two)
        [ "$output" = one,two, ]
    done
}

@test "run --tx is refused on SQLite, with the reason" {
    run -64 rowlock run --tx a -- touch ran
    [[ $output == *"one write lock"* ]]
    [ ! -e ran ]
    [ ! -e test.db ]
}

@test "control characters in messages are escaped" {
    run -64 "$ROWLOCK" $'no\nsuch\e[31m\x7f'
    [ "${lines[0]}" = 'rowlock: unknown verb: '"'"'no\nsuch\x1b[31m\x7f'"'" ]
    run "$ROWLOCK" $'\xc2\x9b\xc3\xa9'
    [ "${lines[0]}" = 'rowlock: unknown verb: '"'"'\u009bé'"'" ]
    run "$ROWLOCK" $'safe\u202egnp\u2069\u061c'
    [ "${lines[0]}" = 'rowlock: unknown verb: '"'"'safe\u202egnp\u2069\u061c'"'" ]
    run "$ROWLOCK" $'\xe9'
    [ "${lines[0]}" = 'rowlock: unknown verb: '"'"'\xe9'"'" ]
}

@test "--version names the drivers" {
    for words in --version "vacuum --version" "--json --version"; do
        run -0 "$ROWLOCK" $words
        [[ ${lines[0]} =~ ^rowlock\ [0-9.]+$ ]]
        [[ ${lines[1]} == "drivers:"*" sqlite"* ]]
    done
}

@test "--version lists the client libraries, and starts no JVM" {
    JAVA_TOOL_OPTIONS=-Dstarted=1 run "$ROWLOCK" --version # a JVM would report that it read them
    [[ $output != *JAVA_TOOL_OPTIONS* ]]
    for driver in $(sed -n 's/^drivers: //p' <<<"$output"); do
        library=$(sed -n "s|^  $driver: \(/.*\)|\1|p" <<<"$output")
        [ -f "$library" ]
    done
    [[ ${lines[-1]} == *"not tested on a server: YugabyteDB, Oracle, SQL Server, DB2" ]]
}

@test "--version names the package of each library that it does not find" {
    mkdir hidden
    for library in libsqlite3.so.0 libpq.so.5 libmariadb.so.3 libodbc.so.2 libiodbc.so.2; do
        : >"hidden/$library" # found first, and no library
    done
    ROWLOCK_LIBJVM=/nowhere ROWLOCK_CLASSPATH=/nowhere.jar LD_LIBRARY_PATH=$PWD/hidden \
        run -0 "$ROWLOCK" --version
    drivers=$(sed -n 's/^drivers: //p' <<<"$output")
    for known in sqlite:libsqlite3-0 postgresql:libpq5 mariadb:libmariadb3 odbc:libodbc2 \
        jdbc:default-jre-headless; do
        [[ " $drivers " == *" ${known%:*} "* ]] || continue
        grep "^  ${known%:*}: not found: .*install the package ${known#*:}" <<<"$output"
    done
    [[ " $drivers " != *" jdbc "* || $output == *"jars: /nowhere.jar (not found)"* ]]
}

@test "--version lists the drivers of odbcinst.ini, or says which package has one" {
    [[ $("$ROWLOCK" --version) == *" odbc"* ]] || skip "this build has no driver odbc"
    export ODBCSYSINI=$PWD
    printf '[Farm %s]\nDriver=/nowhere.so\n' one two >odbcinst.ini
    run -0 "$ROWLOCK" --version
    [[ $output == *"    drivers: Farm one, Farm two"* ]]
    : >odbcinst.ini
    run -0 "$ROWLOCK" --version
    [[ $output == *"drivers: none in odbcinst.ini: install the package odbc-postgresql or "* ]]
}

@test "help on standard output, for every verb, by three ways" {
    [ "$(help_of)" = "$("$ROWLOCK" --help)" ]
    [ "$(help_of)" = "$("$ROWLOCK" -h 2>&1)" ]
    [ "$(help_of run)" = "$("$ROWLOCK" --json run -h)" ]
    [ "$(verbs | wc -l)" -ge 5 ]
    for verb in $(verbs); do
        "$ROWLOCK" "$verb" --help | cmp - "$BATS_FILE_TMPDIR/of-$verb"
        help_of "$verb" | grep -q "^usage: rowlock $verb"
    done
}

@test "lines of help fit a terminal" {
    cat "$BATS_FILE_TMPDIR"/{all,of-*} | awk 'length > 100 { print; bad = 1 } END { exit bad }'
}

# ---- help, manual page and completion have one source -----------------------------------------

plain() { sed -e 's/\\f[BIR]//g' -e 's/\\(aq/'"'"'/g' -e 's/\\e/\\/g' -e 's/\\-/-/g' "$1"; }

@test "every verb has a text, and every text a verb" {
    [ "$(verbs | sort)" = "$(cd "$source_folder/man/verbs" && ls ./*.txt |
        sed -n 's|^\./\([a-z]*\)\.txt$|\1|p' | sort)" ]
    for verb in $(verbs); do [ "$(help_of "$verb" | wc -w)" -gt 3 ]; done
}

@test "every verb takes the options that its help names" {
    local n=0
    for verb in $(verbs); do
        while read -r line; do
            value=
            [[ $line != *[A-Z]* ]] || value='=x'
            for option in ${line//,/ }; do
                [[ $option == --* ]] || continue
                option=${option%%[^a-z-]*} status=0 n=$((n + 1))
                output=$("$ROWLOCK" --db nosuch:x "$verb" "$option$value" "" 2>&1) || status=$?
                echo "$verb $option$value: $output"
                [ "$status" = 64 ]
                [[ $output != *"unknown option"* && $output != *"takes no value"* &&
                    $output != *"requires a value"* ]]
            done
        done < <(help_of "$verb" | sed -n 's/^ \{2,6\}\(-[^ ].*\)/\1/p' | sed 's/   .*//')
    done
    [ $n -gt 100 ]
}

@test "help knows every option in the source" {
    cat "$BATS_FILE_TMPDIR"/{all,of-*} | grep -oE -- '--[a-z-]+' | sed 's/^--//' | sort -u >known
    grep -rohE '\{?"[a-z-]+", ([^ ]+, )?(no|required)_argument' \
        "$source_folder"/src/{command,run,show,demo} |
        sed 's/.*"\(.*\)".*/\1/' | sort -u >source
    [ "$(wc -l <source)" -gt 40 ]
    grep -qx while-pid source
    comm -23 source known >unknown
    [ ! -s unknown ] || { cat unknown && false; }
}

in_words() { grep -oE -- '--[a-z-]+|[[:alnum:]]{4,}' | tr '[:upper:]' '[:lower:]' | sort -u; }

@test "manual pages: one for every verb, with its text and options" {
    local pages=()
    for verb in $(verbs | grep -vx help); do
        page=$ROWLOCK_TEST_BIN/man/rowlock-$verb.1
        plain "$page" >page
        grep -q "^rowlock-$verb - $(help_of | sed -n "s/^  $verb  *//p")\$" page
        help_of "$verb" | sed 1d | in_words >said
        in_words <page >there
        comm -23 said there >missing
        [ ! -s missing ] || { echo "$verb:"; cat missing; false; }
        pages+=("$page")
    done
    run -0 groff -man -Tutf8 -ww -z "${pages[@]}"
    [ -z "$output" ]
}

@test "and the first of them contains every verb, global option, exit status and variable" {
    plain "$source_folder/man/rowlock.1" >page
    for verb in $(verbs); do grep -q "^\.B $verb$" page; done
    for verb in $(verbs | grep -vx help); do grep -q "rowlock-$verb (1)" page; done
    for option in $(help_of | long_options); do grep -q -- "$option" page; done
    for word in 0 1 64 69 75 123 124 125 126 127 ROWLOCK_URL ROWLOCK_URL_FILE ROWLOCK_NAME \
        ROWLOCK_TOKEN ROWLOCK_OWNER ROWLOCK_HELD ROWLOCK_DUE ROWLOCK_ATTEMPT; do
        grep -q "^\.B.* *$word\b" page || { echo "$word"; false; }
    done
}

@test "completion knows every verb and option" {
    # shellcheck disable=SC2046,SC2016
    bash -c '. "$0"; for verb in "" "$@"; do
            COMP_WORDS=(rowlock $verb ""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
            _rowlock; printf "%s\n" "${COMPREPLY[@]}" | sort >"known-to-$verb"
        done' "$ROWLOCK_TEST_BIN/completion/rowlock" $(verbs)
    for verb in "" $(verbs); do
        {
            help_of "$verb" | long_options
            [ -n "$verb" ] || verbs
        } | sort | comm -23 - "known-to-$verb" >missing
        [ ! -s missing ] || { echo "$verb:"; cat missing; false; }
    done
}

@test "completion offers nothing where a value is expected" {
    for option in --ttl --note --token -w --for; do
        [ -z "$(completed "$ROWLOCK acquire $option ")" ]
    done
}

completed() { # LINE: the words that Tab offers at its end
    bash -c '. "$0"; COMP_LINE=$1 COMP_POINT=${#1}; read -ra COMP_WORDS <<<"$1"
        [[ $1 != *" " ]] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _rowlock; printf "%s\n" "${COMPREPLY[@]}"' \
        "$ROWLOCK_TEST_BIN/completion/rowlock" "$1" 2>&1
}

names_completed() { completed "$1" | grep -v '^-'; }

@test "completion offers names of locks, jobs and subjects, escaped; of a named database only" {
    local db="--db sqlite:$PWD/names.db"
    for name in "it's \$HOME" backup 'job:x' $'bell\a'; do
        "$ROWLOCK" $db hold --for 1h --note why "$name" >/dev/null 2>&1
    done
    {
        "$ROWLOCK" $db job nightly --every 50w -- true
        "$ROWLOCK" $db refresh prices --max-age 50w -- true
    }
    completed "$ROWLOCK $db ls " | grep -v '^--' >offered
    cat offered
    [ "$(sort offered)" = "$(printf '%s\n' backup "it\\'s\\ \\\$HOME" job:x | sort)" ]
    [ "$(completed "$ROWLOCK $db break ba")" = backup ]
    [ "$(completed "$ROWLOCK $db break job:")" = x ] # readline keeps the part before the colon
    [ "$(completed "$ROWLOCK $db jobs ni")" = nightly ]
    [ "$(completed "$ROWLOCK $db expire p")" = prices ]
    [ "$(completed "$ROWLOCK $db ls --j")" = --json ]
    # a name that was begun, escaped or in quotes
    "$ROWLOCK" $db hold --for 1h --note why 'a "new" disk:1' >/dev/null 2>&1
    [ "$(names_completed "$ROWLOCK $db ls it\\'s\\ ")" = "it\\'s\\ \\\$HOME" ]
    [ "$(names_completed "$ROWLOCK $db ls \"it's \\\$H")" = "it's \\\$HOME" ]
    [ "$(names_completed "$ROWLOCK $db ls 'a \"n")" = 'a "new" disk:1' ]
    [ "$(names_completed "$ROWLOCK $db ls \"a \\\"n")" = 'a \"new\" disk:1' ]
    [ "$(names_completed "$ROWLOCK $db ls a\\ \\\"n")" = 'a\ \"new\"\ disk:1' ]
    [ "$(names_completed "$ROWLOCK $db ls a\\ \\\"new\\\"\\ disk:")" = 1 ]
    [ -z "$(names_completed "$ROWLOCK $db ls 'it")" ] # not possible within these quotes
    [ -z "$(completed "$ROWLOCK --db sqlite:$PWD/nosuch.db ls a")" ]
    [ ! -e nosuch.db ]
    [ -z "$(completed "$ROWLOCK --db postgresql://127.0.0.1:1/x ls a")" ]
    export ROWLOCK_URL='' XDG_CONFIG_HOME=$PWD XDG_STATE_HOME=$PWD/state
    [ -z "$(completed "$ROWLOCK ls a")" ]
    [ ! -e state ]
}

@test "completion offers names to log and top, and the locks of jobs to hold" {
    local db="--db sqlite:$PWD/past.db"
    {
        "$ROWLOCK" $db hold --note why past && "$ROWLOCK" $db break --now past
        "$ROWLOCK" $db hold --note why present
        "$ROWLOCK" $db job nightly --every 50w -- true
    } >/dev/null 2>&1
    [ "$(names_completed "$ROWLOCK $db log " | sort -u)" = $'job:nightly\nnightly\npast' ]
    [ "$(names_completed "$ROWLOCK $db log job:")" = nightly ]
    [ "$(names_completed "$ROWLOCK $db top ")" = $'present\nnightly' ]
    [ "$(names_completed "$ROWLOCK $db hold job:")" = nightly ]
    [ "$(names_completed "$ROWLOCK $db hold ")" = $'present\njob:nightly' ]
}

@test "completion offers checks, levels and dialects, and each one exists" {
    "$ROWLOCK" --db "$ROWLOCK_TEST_URL" schema install
    completed "$ROWLOCK doctor --only " | sort >offered
    "$ROWLOCK" doctor --list | sed 's/ .*//' | sort | diff - offered
    [ "$(completed "$ROWLOCK doctor --only gu")" = guard ]
    [ "$(bash -c '. "$0"; COMP_WORDS=("$1" doctor --only = gu) COMP_CWORD=4; _rowlock
        echo "${COMPREPLY[@]}"; COMP_WORDS=("$1" schema install --technique =); _rowlock
        echo "${COMPREPLY[@]}"' "$ROWLOCK_TEST_BIN/completion/rowlock" "$ROWLOCK")" = \
        $'guard\nnative row insert' ]
    [ "$(completed "$ROWLOCK schema set ")" = history ]
    completed "$ROWLOCK schema set history " >levels
    [ "$(wc -l <levels)" = 4 ]
    for level in $(cat levels); do
        "$ROWLOCK" --db "$ROWLOCK_TEST_URL" schema set history "$level" | grep -q "$level;"
    done
    completed "$ROWLOCK schema print " >dialects
    [ "$(wc -l <dialects)" = 5 ]
    for dialect in $(cat dialects); do "$ROWLOCK" schema print "$dialect" >/dev/null; done
}

# In an interactive bash on a pty of script(1), whose keyboard is descriptor 5.
@test "completion of --output, --svg, --report and of cron's FILE is that of files" {
    printf '%s\n' ". '$ROWLOCK_TEST_BIN/completion/rowlock'" "PS1='ready> '" \
        'rowlock() { printf "<%s>" "$@" >>args; echo >>args; }' >rc
    touch 'part of it'
    mkdir folder
    touch folder/tab
    mkfifo keys
    start env -u BASH_ENV HOME="$PWD" TERM=dumb sh -c \
        'exec script -qefc "bash --noprofile --rcfile rc -i" screen <keys >/dev/null'
    exec 5>keys
    until_true grep -aq 'ready> ' screen
    printf '%s\n' $'rowlock metrics --output par\t' $'rowlock log --svg=par\t' \
        $'rowlock run --report par\t' $'rowlock cron fol\tta\t' exit >&5
    wait "$started"
    exec 5>&-
    cat screen
    [ "$(cat args)" = '<metrics><--output><part of it>
<log><--svg=part of it>
<run><--report><part of it>
<cron><folder/tab>' ]
}

# Without MySQL's server this at least checks the text derived from MariaDB's schema.
@test "MySQL's schema contains no word of MariaDB's alone; all procedures exist" {
    "$ROWLOCK" schema print mysql | sed 's/-- .*//' >text
    mariadb_only='OR REPLACE PROCEDURE|SET STATEMENT|NOT ATOMIC|EXECUTE IMMEDIATE|SEQUENCE'
    mariadb_only+='|(NEXT|LAST|SET)VAL|LOCK IN SHARE MODE SKIP'
    mariadb_only+='|@@(in_transaction|wsrep|tx_isolation|idle_)'
    mariadb_only+='|innodb_lock(s|_waits)'
    run -1 grep -nE "$mariadb_only" text
    sed -n 's/^CREATE PROCEDURE \(rowlock_[a-z0-9_]*\).*/\1/p' text | sort >created
    [ "$(uniq -d created | grep -vE '^rowlock_(adopt|once)$')" = "" ] # these are dropped again
    [ "$(grep '^GRANT EXECUTE' text)" = 'GRANT EXECUTE ON * TO application;' ]
    [ "$(grep -o 'CALL rowlock_[a-z0-9_]*' text | sed 's/CALL //' | sort -u |
        comm -23 - created)" = "" ]
}

@test "the printed schema states its version, and the packages of clients/ find its parts" {
    version=$(sed -n 's/^.define ROWLOCK_SCHEMA_VERSION //p' \
        "$BATS_TEST_DIRNAME/../../src/session/connection.h")
    for dialect in postgresql yugabytedb mariadb mysql; do
        "$ROWLOCK" schema print $dialect >text
        grep -qE "^-- rowlock's schema, version $version[ ,]" text
        sed '/^-- GRANTs/,/^-- end of GRANTs$/d' text >install
        run ! grep -wq application install
        [ "$(tail -n 1 text)" = "$(tail -n 1 install)" ]
        # a statement of these ends with the delimiter, at the end of a line
        sed -n '/^DELIMITER \/\/$/,/^DELIMITER ;$/p' text >bodies
        run ! grep -E '//.' bodies
        sed '/^DELIMITER \/\/$/,/^DELIMITER ;$/d; s/-- .*//; s/^--$//' text >plain
        [[ $dialect != m* ]] || run ! grep -nE ';.' plain
    done
}

@test "schema print refuses what does not exist, and a role that is not a name" {
    run -64 "$ROWLOCK" schema print nosuch
    run -64 "$ROWLOCK" schema print sqlite --technique row
    run -64 "$ROWLOCK" schema print postgresql --role 'x; DROP'
}

@test "a role and a table are replaced, also in the comments" {
    for dialect in postgresql mariadb mysql sqlite; do
        options="--technique insert --table bobj"
        [ $dialect != mysql ] || options= # it has no technique insert
        "$ROWLOCK" schema print $dialect --role clerk $options >text
        grep -qi 'create table' text
        # comments that name "the role clerk" or "the table public.bobj" are meant, not the original
        # word
        grep -hE -- '--.*\b(clerk|bobj)\b' text | tee said
        run ! grep -vE \
            'the role (or account )?clerk\b|(the table (public\.)?|unique key in )bobj\b' said
        run ! grep -qE '\b(application|rowlock_object)\b' text
    done
    "$ROWLOCK" schema print postgresql --table bobj >text # it selects the technique
    grep -qw bobj text
}

@test "a mistyped verb or option: the closest one is suggested, also for other programs' words" {
    for pair in list:ls locks:ls status:ls info:ls "lock:run or acquire" unlock:release \
        install:"schema install" \
        rnu:run aquire:acquire relase:release lss:ls chek:check refersh:refresh jbos:jobs; do
        refused "unknown verb: '${pair%%:*}'; did you mean ${pair#*:}?" "${pair%%:*}"
        refused "did you mean ${pair#*:}?" help "${pair%%:*}"
    done
    refused "unknown option: '--quite'; did you mean --quiet?" run --quite a -- true
    refused "unknown option: '--tll'; did you mean --ttl?" acquire --tll=5m a
    refused "did you mean --db?" --dbb x ls
    for far in nosuch x 'sqlite://x' "$(printf 'l%.0s' $(seq 200))"; do
        refused "unknown verb" "$far"
        [[ $output != *"did you mean"* ]]
    done
    refused "unknown option" run --xyzzy a -- true
    [[ $output != *"did you mean"* ]]
}

@test "a name that begins with - is given by --name, to every verb that takes names" {
    rowlock run --name -x --name=--y plain -- sh -c 'printf "%s," $ROWLOCK_NAME' >names
    [ "$(cat names)" = "-x,--y,plain," ]
    rowlock run --name -n -c 'printf "%s" "$ROWLOCK_NAME" >names'
    [ "$(cat names)" = -n ]
    token=$(rowlock acquire --ttl 10m --name -x --name -y)
    rowlock renew --name -x --token "$token"
    rowlock check --name -y --token "$token"
    rowlock ls --name -x | grep -q '^-x '
    run -75 rowlock run -n --name -y -- true
    run rowlock break --name -x
    [[ $output == *"rowlock break --now --name '-x'" ]]
    rowlock release --name -x --token "$token" || [ $? = 123 ]
    run -0 rowlock hold --name -h --for 1m --note x
    [[ $output == *"rowlock release --name '-h' --token "* ]]
    [ "$(rowlock next --name -c)" = 1 ]
    rowlock refresh --name -s --max-age 0 -- true
    rowlock use --name -s -- true
    rowlock subjects --name -s | grep -q '^-s '
    rowlock expire --name -s
    rowlock job --name -j --every 1h -- touch ran
    [ -e ran ]
    rowlock jobs --name -j | grep -q done
    rowlock jobs --name -j --forget
    refused "unexpected" ls --name -x y
    refused "a NAME is missing; a name that begins with - is given by --name" run -x -- true
    refused "a NAME is missing; a name that begins with - is given by --name" run -- -x -- true
    refused "unknown option: '-x'; rowlock help ls lists the options; a name that begins with - is"\
" given by --name" ls -x
    refused "a NAME is missing" run
    [[ ${lines[0]} != *"--name"* ]]
    refused "empty" ls --name ""
    refused "unknown option: '--name'" vacuum --name x
}

@test "a command without -- before it: the message shows where -- belongs" {
    refused "the command is missing: put -- before it, as in: run 'a' -- './x.sh', or -c '" \
        run a ./x.sh
    refused "the command is missing: put -- before it, as in: job 'a' -- './x.sh'" \
        job a --every 1h ./x.sh
    refused "put -- before it, as in: refresh 'a' -- './x.sh'" refresh --max-age 1h a ./x.sh
    refused "the command is missing: -- COMMAND, or -c 'SHELL COMMAND'" run a
    refused "unknown option: '-Y'; put -- before the command and its options" run a ./x.sh -Y
    refused "unknown option: '--xyzzy'; put -- before the command and its options" run a b --xyzzy
    refused "unknown option: '--xyzzy'; rowlock help run lists the options" run a --xyzzy -- b
    [[ $output != *"a name that"* ]]
    refused "unknown option: '--xyzzy'; rowlock help vacuum lists the options" vacuum --xyzzy
    refused "unknown option: '--xyzzy'; rowlock help lists the options" --xyzzy ls
}

@test "a backslash in a name is not an escape character" {
    rowlock hold --for 1h --note 'a\nb' 'one\two' 2>/dev/null
    rowlock hold --for 1h --note $'a\nb' 'three' 2>/dev/null
    rowlock ls | tee listed
    grep -q '^one\\two .*a\\\\nb$' listed
    grep -q '^three .*[^\\]a\?\\nb$' listed
    [ "$(rowlock ls --json 'one\two' | json '$[0].note')" = 'a\nb' ]
    [ "$(rowlock ls --json 'one\two' | json '$[0].name')" = 'one\two' ]
    run "$ROWLOCK" 'no\nverb'
    [ "${lines[0]}" = "rowlock: unknown verb: 'no\\\\nverb'" ]
}

@test "make refuses an unknown driver, and lists the known ones" {
    run ! make -C "$source_folder" BUILD="$BATS_TEST_TMPDIR/build" DRIVERS="sqlite oracle" summary
    [[ $output == *"no driver 'oracle'; DRIVERS may name: sqlite postgresql mariadb"* ]]
}

@test "completion of fish: verbs, options, values, names of a named database, a command line" {
    # LINE...: the words that Tab offers at the end of each, after the verb of the line
    offered_to() {
        PATH="$(dirname "$ROWLOCK"):$PATH" HOME=$PWD fish --no-config -c \
            'source $argv[1]
            for line in $argv[2..]
                complete -C $line | string replace -r -- "^" (string split " " $line)[2]" "
            end' \
            "$ROWLOCK_TEST_BIN/completion/rowlock.fish" "$@" | sed 's/\t.*//' | sort
    }
    offered() { offered_to "$1" | sed 's/[^ ]* //' | paste -sd' '; }
    offered_to 'rowlock ' | sed 's/^ //' | comm -13 - <(verbs | sort) >missing
    local lines=()
    for verb in $(verbs); do
        for option in $(help_of "$verb" | long_options); do lines+=("rowlock $verb $option"); done
    done
    [ ${#lines[@]} -gt 100 ]
    offered_to "${lines[@]}" | comm -13 - <(printf '%s\n' "${lines[@]#rowlock }" | sort) >>missing
    [ ! -s missing ] || { cat missing && false; }
    "$ROWLOCK" --db "sqlite:$PWD/names.db" hold --for 1h --note why "it's \$HOME" >/dev/null 2>&1
    "$ROWLOCK" --db "sqlite:$PWD/names.db" job nightly --every 50w -- true
    [[ $(offered "rowlock --db sqlite:$PWD/names.db ls it") == "it"*"\$HOME" ]]
    [ "$(offered "rowlock hold --db=sqlite:$PWD/names.db job:")" = job:nightly ]
    [ "$(offered 'rowlock doctor --only gu')" = guard ]
    [ "$(offered 'rowlock run x -- whoam')" = whoami ]
    touch 'part of it'
    [[ $(offered 'rowlock log --svg par') == part* ]]
    [ -z "$(offered 'rowlock acquire --ttl par')" ]
    ROWLOCK_URL='' XDG_STATE_HOME=$PWD/state offered 'rowlock ls n'
    [ ! -e state ]
}

# In an interactive zsh on a pty of script(1), whose keyboard is descriptor 5.
@test "completion of zsh: verbs, options, names of a named database, files, a command line" {
    mkdir bin functions
    cp "$ROWLOCK_TEST_BIN/completion/rowlock.zsh" functions/_rowlock
    # it completes by the real one, and runs one that writes its words down
    printf '%s\n' '#!/bin/sh' 'for word; do [ "$word" != --json ] || exec "$REAL" "$@"; done' \
        'printf "<%s>" "$@" >>args; echo >>args' >bin/rowlock
    chmod 755 bin/rowlock
    "$ROWLOCK" --db "sqlite:$PWD/names.db" hold --for 1h --note why "it's \$HOME" >/dev/null 2>&1
    "$ROWLOCK" --db "sqlite:$PWD/names.db" job nightly --every 50w -- true
    touch 'part of it'
    printf '%s\n' "PS1='ready> '" 'fpath=($PWD/functions $fpath)' 'autoload -U compinit' \
        'compinit -u -D' "bindkey '^I' complete-word" 'unsetopt beep' >.zshrc
    mkfifo keys
    start env -u BASH_ENV HOME="$PWD" ZDOTDIR="$PWD" TERM=dumb REAL="$ROWLOCK" \
        PATH="$PWD/bin:$PATH" sh -c 'exec script -qefc "zsh -d -i" screen <keys >/dev/null'
    exec 5>keys
    until_true grep -aq 'ready> ' screen
    local db="--db sqlite:$PWD/names.db"
    printf '%s\n' $'rowlock acq\t--while\t1' "rowlock $db ls it"$'\t' \
        "rowlock $db hold job:"$'\t' $'rowlock log --svg par\t' $'rowlock run x -- whoam\t' \
        $'rowlock schema upg\t' exit >&5
    wait "$started" || true
    exec 5>&-
    cat screen args
    [ "$(cat args)" = "<acquire><--while-pid=1>
<--db><sqlite:$PWD/names.db><ls><it's \$HOME>
<--db><sqlite:$PWD/names.db><hold><job:nightly>
<log><--svg><part of it>
<run><x><--><whoami>
<schema><upgrade>" ]
}
