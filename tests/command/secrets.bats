#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# No process list, no message and no core file contains a password.
# Runs on: postgresql/native mariadb/row

load lib

# On MySQL the account rowlock has no password.
setup_file() {
    install_technique
    ! is_mysql || sql "CREATE USER IF NOT EXISTS keeper@'%' IDENTIFIED BY 'unguessable';
                       GRANT ALL ON \`${ROWLOCK_TEST_URL##*/}\`.* TO keeper@'%'"
}
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    account=${ROWLOCK_TEST_URL#*//} account=${account%%@*}
    secret=$account
    case $account in *:*) secret=${account#*:} ;; *) secret=unguessable ;; esac
    with_secret=${ROWLOCK_TEST_URL/"//$account@"/"//${account%%:*}:$secret@"}
    ! is_mysql || with_secret=${with_secret/"//rowlock:"///keeper:}$tls
}

@test "the URL is overwritten in the process list, in any position" {
    show='tr "\0" " " </proc/$PPID/cmdline'
    run -0 "$ROWLOCK" --db "$with_secret" run --tx a -- sh -c "$show"
    [[ $output == *"--db xxx"* ]]
    [[ $output != *"$secret"* ]]
    [[ $output != *://* ]]
    run -0 "$ROWLOCK" run --tx a "--db=$with_secret" -- sh -c "$show"
    [[ $output == *"--db=xxx"* ]]
    [[ $output != *"$secret"* ]]
    run -0 "$ROWLOCK" --db sqlite:x --db "$with_secret" run --tx a -- sh -c "$show"
    [[ $output != *"$secret"* ]]
}

@test "the process leaves no core, and other users cannot inspect it" {
    # the files of a process that is not dumpable belong to root
    run -0 "$ROWLOCK" --db "$with_secret" run --tx a -- sh \
        -c 'stat -c %U /proc/$PPID/environ; echo $PPID'
    [ "${lines[0]}" = root ]
}

@test "no message contains it" {
    wrong=${with_secret/"$secret"/n0t-the-password}
    for url in "${wrong/test_/absent_}" "${wrong/127.0.0.1:*\//127.0.0.1:1/}" \
        "${wrong}?nonsense=1" \
        "${wrong/127.0.0.1/no such host}" "nosuch${wrong#"$ROWLOCK_TEST_ENGINE"}" "${wrong}%zz"; do
        run "$ROWLOCK" --db "$url" vacuum
        echo "$status: $output"
        [[ $output != *n0t-the-password* ]]
        run "$ROWLOCK" --db "$url" run --tx -w 0.1 a -- true
        [[ $output != *n0t-the-password* ]]
    done
}

@test "nor if the host and its @ were forgotten" {
    for rest in "" /base "?connect_timeout=1" "%40x/base" ",other/base"; do
        run ! "$ROWLOCK" --db "${with_secret%%://*}://me:n0t-the-password$rest" vacuum
        [[ $output != *n0t-the-password* ]]
    done
}

@test "a password with a bare % is refused, with the reason" {
    run -64 "$ROWLOCK" --db "${with_secret%%://*}://me:50%off@127.0.0.1/base" ls
    [[ $output == *"a % without two hex digits"* ]]
    [[ $output != *off* ]]
}

@test "nor does the message for a typing error" {
    for words in "$with_secret" "vacuum $with_secret" "--bd=$with_secret vacuum" \
        "help $with_secret" \
        "run --tx -w $with_secret a -- true" "schema $with_secret" \
            "schema install --technique $with_secret" \
        "demo --workers $with_secret" "run --tx a -- $with_secret" "acquire $with_secret" \
        "acquire --ttl $with_secret a" "acquire --while-pid $with_secret a" "renew $with_secret" \
        "renew a --token $with_secret" "release a $with_secret" "check a --token=$with_secret" \
        "hold --for $with_secret --note x a" "hold --for 1m $with_secret" "ls a $with_secret" \
        "break a --token $with_secret" "break a $with_secret"; do
        # shellcheck disable=SC2086
        run ! "$ROWLOCK" $words
        [[ $output != *"$secret"* ]]
    done
}

@test "nor the output of the verbs of leases, their rows, or their process list" {
    start sleep 300
    for verb in "acquire --ttl 1m --note x one" "hold --for 1m --note x two" \
        "acquire --while-pid $started three" "ls" "ls one --json" "check one --token 1" \
        "acquire -n --ttl 1m one" "renew one --token 1" "release one --token 1" "break four" \
        "break one"; do
        # shellcheck disable=SC2086
        "$ROWLOCK" --db "$with_secret" $verb >>printed 2>&1 || true
    done
    start "$ROWLOCK" --db "$with_secret" acquire --ttl 1m two
    until_true is_waited_for two
    keeper=$(item three '$[0].pid')
    for pid in "$started" "$keeper"; do
        tr '\0' ' ' <"/proc/$pid/cmdline" >>printed
        [ "$(stat -c %U "/proc/$pid/environ")" = root ]
    done
    grep -q "acquire --while-pid" printed
    for table in lease waiter; do sql "SELECT * FROM $ours$table" >>rows; done
    [ "$ROWLOCK_TEST_ENGINE" != mariadb ] || sql "SELECT * FROM rowlock_name" >>rows
    grep -q three rows
    cat printed rows
    run ! grep -q -- "$secret" printed rows
}
