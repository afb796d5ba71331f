#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ls: holders and waiters, with time and place.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: sqlite/native postgresql/native

load lib

teardown() {
    end_started TERM # withdrawn properly: a killed waiter is listed for a while
    if [ -e held ]; then
        while read -r name; do rowlock break --now "$(printf %b "$name")"; done <held
    fi
}
take() { # ACQUIRE-ARGUMENT... NAME: broken when the test ends
    printf '%s\n' "${!#}" | sed 's/\t/\\t/g' >>held
    rowlock acquire --ttl 1h "$@"
}
in_terminal() { # COMMAND: standard output and error are a terminal
    script -qec "$1" /dev/null </dev/null
}
keys='name,state,mode,since,expires,token,owner,host,pid,command,note,limit,permits,stop,kind'

@test "an empty farm: no output, except a message to a terminal" {
    run -0 rowlock ls
    [ -z "$output" ]
    run rowlock --json ls
    [ "$output" = "[]" ]
    run in_terminal "'$ROWLOCK' --db '$ROWLOCK_TEST_URL' ls"
    [[ $output == *"no lease is held"* ]]
}

@test "on a terminal the list of all names says that locks of transactions may be missing" {
    hint="rowlock: transactions may be missing; see rowlock ls NAME"
    take kept
    for words in ls "ls --tree" "ls 'k*'" "ls 'n*'" "ls | cat"; do
        run in_terminal "'$ROWLOCK' --db '$ROWLOCK_TEST_URL' $words"
        [[ $output == *"$hint"* ]]
    done
    for words in "ls kept" "--json ls" "ls 2>/dev/null"; do
        run in_terminal "'$ROWLOCK' --db '$ROWLOCK_TEST_URL' $words"
        [[ $output == *kept* && $output != *"$hint"* ]]
    done
}

@test "with a name: 0 held, 1 free" {
    run -1 rowlock ls one
    [ -z "$output" ]
    take one
    run -0 rowlock ls one
    [ ${#lines[@]} = 2 ]
    run -1 rowlock ls On
    run -1 rowlock --json ls other
    [ "$output" = "[]" ]
}

@test "by name, holders before waiters in order; columns are aligned" {
    take --note 'ask Ann' long-name-of-a-lock
    take -s b
    for note in first second third; do
        start_rowlock acquire --note "$note" --ttl 1m b
        until_true said_by_ls "$note"
    done
    run rowlock ls
    [ ${#lines[@]} = 6 ]
    [[ ${lines[0]} =~ ^NAME\ +STATE\ +MODE\ +SINCE\ +LEFT\ +TOKEN\ +WHO\ +NOTE$ ]]
    state=${lines[0]%%STATE*} who=${lines[0]%%WHO*}
    for line in "${lines[@]:1}"; do
        [[ ${line:${#state}} =~ ^(held|waiting)\ +(exclusive|shared)\  ]]
        [[ ${line:${#who}} == "$(uname -n)"* ]]
    done
    [ "$(awk '{ print $1, $2 }' <<<"$output" | paste -sd,)" = \
        "NAME STATE,b held,b waiting,b waiting,b waiting,long-name-of-a-lock held" ]
    [[ $output == *"ask Ann"* ]]
    [[ $output =~ (59m|1h00m) ]]
    until_true shows_the_queue b
}
# On a busy machine a waiter may lose its place after a second: the order is that of the rows.
shows_the_queue() { # NAME
    local before after shown
    before=$(sql "SELECT note FROM ${ours}waiter WHERE name = '$1' ORDER BY ticket" | paste -sd,)
    shown=$(rowlock ls "$1" | grep ' waiting ' | grep -o '[a-z]*$' | paste -sd,)
    after=$(sql "SELECT note FROM ${ours}waiter WHERE name = '$1' ORDER BY ticket" | paste -sd,)
    echo "rows: $before, $after; shown: $shown"
    [ "$before" = "$shown" ] && [ "$shown" = "$after" ] && [[ $shown == *,*,* ]]
}
said_by_ls() { rowlock ls | grep -q -- "$1"; }

names_of() { awk 'NR > 1 { print $1 }' <<<"$output" | paste -sd,; }

@test "a pattern selects names: 0 one of them is held, 1 none; a backslash makes it a character" {
    take job:a
    take job:b
    take 'job:[a]'
    take other
    run -0 rowlock ls 'job:*'
    [ "$(names_of)" = 'job:[a],job:a,job:b' ]
    run rowlock ls 'job:?'
    [ "$(names_of)" = job:a,job:b ]
    run rowlock ls 'job:[a]'
    [ "$(names_of)" = job:a ]
    run rowlock ls 'job:\[a]'
    [ "$(names_of)" = 'job:[a]' ]
    run rowlock ls --name 'job:[a]'
    [ "$(names_of)" = 'job:[a]' ]
    run -1 rowlock ls --name 'job:[a'
    [ "$(rowlock --json ls 'job:[!a]' | json_sql "json_array_length(document)")" = 1 ]
    run -1 rowlock ls 'nothing*'
    [ -z "$output" ]
    run -64 rowlock ls 'job:[a'
    [[ $output == *"'[' without ']'"* ]]
    run in_terminal "'$ROWLOCK' --db '$ROWLOCK_TEST_URL' ls 'nothing*'"
    [[ $output == *"no name that is held or waited for matches 'nothing*'; rowlock ls lists all"* ]]
}

in_columns() { # N COMMAND: its output to a terminal of N columns, without colours
    in_terminal "stty cols $1; NO_COLOR=1 $2" | tr -d '\r'
}
fits_in() { # N LINES...: as characters
    local most=$1
    shift
    for line; do [ ${#line} -le "$most" ] || { echo "${#line} > $most: $line"; return 1; }; done
}

@test "a narrow terminal: notes and commands are cut, then columns; never the name, host and pid" {
    local name=import/customers/eu note who columns
    note=$(printf 'n%.0s' {1..90})
    start_rowlock run --note "$note" "$name" -- \
        sh -c ': a long command line; touch started; exec sleep 970'
    until_true is_there started
    who=$(uname -n):$started
    for columns in 60 80; do
        for words in ls "ls --tree" "ls 'import*'"; do
            run in_columns $columns "'$ROWLOCK' --db '$ROWLOCK_TEST_URL' $words"
            echo "$columns: $output"
            fits_in $columns "${lines[@]}"
            [[ ${lines[1]} == "$name "* && ${lines[1]} == *" held "* ]]
            [[ " ${lines[1]} " == *" $who "* ]]
        done
    done
    run in_columns 130 "'$ROWLOCK' --db '$ROWLOCK_TEST_URL' ls"
    fits_in 130 "${lines[@]}"
    [[ ${lines[0]} == *TOKEN*NOTE && ${lines[1]} == *nnn… ]]
    if [ "$ROWLOCK_TEST_ENGINE" = sqlite ]; then # the columns of a host's characters, not its bytes
        sql "UPDATE rowlock_lease SET name = 'b', host = '日本日本日本'"
        run in_columns $((${#started} + 26)) "'$ROWLOCK' --db '$ROWLOCK_TEST_URL' ls"
        echo "$output"
        [[ ${lines[1]} =~ ^b\ .*日本日本日本:$started$ ]]
    fi
}

nested() { # OUTER INNER: holds OUTER and waits for INNER
    start_rowlock run "$1" -- "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run "$2" -- true
    until_true is_waited_for "$2"
}
tree_is() { [ "$(rowlock ls --tree | sed '1d; s/   *[a-z].*//')" = "$1" ]; }

@test "--tree: below a waiter are the waiters for the names that it holds" {
    take alone
    take --note 'the "cause"' first
    nested second first
    nested third second
    start_waiter third
    until_true tree_is 'alone
first
└─ #1
   └─ second
      └─ #1
         └─ third
            └─ #1'
    run rowlock ls --tree
    [[ ${lines[0]} =~ ^NAME\ +STATE\ +MODE\ +AGE\ +LEFT\ +WHO\ +NOTE$ ]]
    [[ ${lines[2]} =~ ^first\ +held\ +exclusive\ +[0-9ms]+\ +(59m|1h00m) ]]
    [[ ${lines[2]} == *'the "cause"' ]]
    [[ ${lines[3]} =~ waiting\ +exclusive\ +[0-9ms]+\ +-\ +$(uname -n):[0-9]+ ]]
    run -0 rowlock ls --tree second
    [[ ${lines[1]} == second\ * && ${lines[3]} == *third\ * && ${#lines[@]} = 5 ]]
    run -1 rowlock ls --tree free
    [ -z "$output" ]
    rowlock --json ls --tree >tree
    rowlock --json ls >list
    [ "$(json_sql "json_array_length(document)" <tree)" = 7 ]
    diff <(sed 's/"expires":[^,]*,//' list) <(sed 's/"expires":[^,]*,//' tree)
}

@test "--tree: a cycle is shown, and ends" {
    start_cycle one two
    until_true is_waited_for one
    until_true is_waited_for two
    run rowlock ls --tree
    [ ${#lines[@]} = 6 ]
    [[ ${lines[1]} =~ ^one\ +held\  ]]
    [[ ${lines[2]} =~ ^└─\ #1\ +waiting\  ]]
    [[ ${lines[3]} =~ ^\ \ \ └─\ two\ +held\  ]]
    [[ ${lines[4]} =~ ^\ +└─\ #1\ +waiting\  ]]
    [[ ${lines[5]} =~ ^\ +└─\ one\ +cycle\  ]]
}

two_are_listed() {
    rowlock --json ls doc >list
    [ "$(json_sql "json_array_length(document)" <list)" = 2 ]
}
@test "JSON: one array, the keys of the contract, times in UTC, null for unknown" {
    token=$(take -s --note 'a "note"' doc)
    start_rowlock acquire --ttl 1m doc
    until_true is_waited_for doc
    until_true two_are_listed # while it tries again, its transaction is listed too
    cat list
    for at in 0 1; do
        [ "$(json_sql "(SELECT group_concat(key) FROM json_each(document,
                       '\$[$at]'))" <list)" = "$keys" ]
        [ "$(json "\$[$at].name" <list)" = doc ]
        [[ $(json "\$[$at].since" <list) =~ ^20[0-9-]{8}T[0-9:]{8}\.[0-9]{3}Z$ ]]
        [ "$(json "\$[$at].host" <list)" = "$(uname -n)" ]
        [[ $(json "\$[$at].owner" <list) =~ ^[0-9a-f]{32}$ ]]
    done
    [ "$(json '$[0].state' <list)/$(json '$[1].state' <list)" = held/waiting ]
    [ "$(json '$[0].mode' <list)/$(json '$[1].mode' <list)" = shared/exclusive ]
    [ "$(json '$[0].token' <list)" = "$token" ]
    [ "$(json '$[0].note' <list)" = 'a "note"' ]
    [[ $(json '$[0].expires' <list) =~ Z$ ]]
    [ "$(json '$[1].pid' <list)" = "$started" ]
    grep -q \
        '"expires":null,"token":null,.*"note":null,"limit":null,"permits":null,"stop":false,'\
'"kind":"lease"}' list
}

@test "a broken lease is held, and marked as stopping" {
    take -s wrong
    rowlock acquire --ttl 1h -s wrong
    token=$(item wrong '$[0].token')
    rowlock break wrong --token "$token"
    rowlock ls wrong >list
    cat list
    [ "$(grep -c '^wrong  held, told to stop  shared ' list)" = 1 ]
    grep '^wrong  held, told to stop ' list | grep -q " $token "
    [ "$(grep -c '^wrong  held                shared ' list)" = 1 ]
    rowlock --json ls wrong >list
    [ "$(json '$[0].state' <list)/$(json '$[1].state' <list)" = held/held ]
    [ "$(json '$[0].stop' <list)/$(json '$[1].stop' <list)" = 1/0 ]
    grep -q '"stop":true' list
}

@test "permits are shown as N of M" {
    take --limit 3 pool
    run rowlock ls pool
    [[ $output == *"1 of 3 permits"* ]]
    [ "$(item pool '$[0].mode')/$(item pool '$[0].limit')" = permit/3 ]
}

@test "control characters are escaped, in the table and in JSON; UTF-8 is kept and aligned" {
    take --note $'red\e[31m\nline\u009b' $'na\tme'
    take --note wide 'naïve-日本'
    take --note plain naive-1234
    run rowlock ls
    [ ${#lines[@]} = 4 ]
    [[ $output == *'na\x09me'* ]]
    [[ $output == *'red\x1b[31m\nline\u009b'* ]]
    [[ $output == *'naïve-日本  held'* ]]
    [[ $output == *'naive-1234  held'* ]]
    [[ $output != *$'\e'* ]]
    rowlock --json ls $'na\tme' >list
    [ "$(json '$[0].note' <list)" = $'red\e[31m\nline\u009b' ]
    grep -qF 'line\u009b"' list # a terminal would obey it
    run ! grep -q $'\e' list
}

@test "coloured on a terminal only, and not with NO_COLOR" {
    take bright
    command="TERM=xterm '$ROWLOCK' --db '$ROWLOCK_TEST_URL' ls"
    [[ $(in_terminal "$command") == *$'\e['* ]]
    [[ $(in_terminal "NO_COLOR=1 $command") != *$'\e['* ]]
    [[ $(in_terminal "NO_COLOR=1 $command") == *bright* ]]
    [[ $(in_terminal "${command/xterm/dumb}") != *$'\e['* ]]
    [[ $(TERM=xterm rowlock ls) != *$'\e['* ]]
}

@test "on a terminal a long note is cut to the line, elsewhere it is whole" {
    note=$(printf 'ä日%.0s' {1..100})
    take --note "$note" long
    command="TERM=dumb '$ROWLOCK' --db '$ROWLOCK_TEST_URL' ls long"
    line=$(in_terminal "stty cols 200; $command" | tr -d '\r' | tail -n 1)
    echo "$line"
    [[ $line == *'ä日'*… ]]
    [ "$(printf %s "$line" | wc -L)" -le 200 ]
    [ "$(printf %s "$line" | wc -L)" -ge 198 ]
    [[ $(in_terminal "stty cols 90; $command") == *'ä日'*…* ]]
    line=$(in_terminal "stty cols 20; $command" | tr -d '\r' | tail -n 1)
    [[ $line == "long  held   $(uname -n)"* ]]
    [[ $(rowlock ls long) == *" $note" ]]
    [ "$(item long '$[0].note')" = "$note" ]
}

@test "a name that a transaction holds is listed as held, also without a waiter" {
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] || return 0
    for mode in exclusive shared; do
        hold work "--$mode"
        run -0 rowlock ls work
        [[ ${lines[1]} =~ ^work\ \ held,\ tx\ \ $mode\  ]]
        rowlock --json ls work >list
        [ "$(json_sql "json_array_length(document)" <list)" = 1 ]
        [ "$(json '$[0].state' <list)/$(json '$[0].mode' <list)" = "held/$mode" ]
        [ "$(json '$[0].kind' <list)" = transaction ]
        let_go
        until_true is_free work
    done
    run -1 rowlock ls never-seen
}

# MariaDB reports the holder only with the privilege PROCESS, and while a session waits.
as_far_as_told() { "$ROWLOCK" --db "$ROWLOCK_TEST_ADMIN" "$@"; }
# InnoDB refreshes its snapshot of the transactions only after 0.1 s without a reader.
transaction_is_listed() { sleep 0.15; as_far_as_told ls work |
    grep -q '^work  held, tx  exclusive '; }

session_of_holder() { # the session that does not wait
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        sql "SELECT pid FROM pg_stat_activity WHERE datname = current_database()
             AND state = 'idle in transaction'"
        ;;
    mariadb)
        sql "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx t
             JOIN $processlist p ON p.id = t.trx_mysql_thread_id
             WHERE p.db = database() AND trx_state <> 'LOCK WAIT'"
        ;;
    esac
}

@test "the locks of transactions are listed with a name, as far as the engine reports it" {
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] || return 0
    hold work
    start_rowlock run --tx work -- true
    until_true transaction_is_listed
    as_far_as_told --json ls work >list
    [ "$(json '$[0].state' <list)" = held ]
    grep -q '"token":null' list
    [ "$(json '$[0].kind' <list)" = transaction ]
    session=$(session_of_holder)
    [ "$(json '$[0].pid' <list)" = "$session" ]
    as_far_as_told ls work >list # never listed as a process of the client's host
    cat list
    grep -q "^work  held, tx  .* [^ :]* .*, server session $session\$" list
    run -75 as_far_as_told run --tx -n work -- true
    [[ $output == *"'work' is held by a transaction, server session $session"* ]]
    [[ $output != *"pid $session"* ]]
    let_go
    until_true is_free work
}

# Without a name: PostgreSQL reports only the key of a lock, so another table must have the name.
tx_is_listed() { sleep 0.15; as_far_as_told ls | grep -q "^$1  *held, tx  *exclusive "; }

@test "without a name, all transactions are listed that the engine reports" {
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] || return 0
    rowlock acquire --ttl 1m other
    hold work
    start_rowlock acquire --ttl 1m work
    until_true tx_is_listed work
    as_far_as_told ls >list
    cat list
    grep -q "^work  *held, tx .*, server session $(session_of_holder)\$" list
    [ "$(grep -c ' held, tx ' list)" = 1 ]
    grep -q '^other ' list
    as_far_as_told --json ls | json '$' >list
    [ "$(json_sql "(SELECT group_concat(json_extract(value, '\$.name')) FROM json_each(document)
                    WHERE json_extract(value, '\$.kind') = 'transaction')" <list)" = work ]
    let_go
    until_true nobody_waits_for work
    run ! tx_is_listed work
}

@test "a counter during a draw is listed" {
    # MariaDB reports locks that a session waits for
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    rowlock next invoice
    hold counter:invoice
    tx_is_listed counter:invoice
    let_go
    hold unknown
    run ! tx_is_listed unknown
    let_go
}
