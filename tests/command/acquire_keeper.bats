#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# acquire --while-pid: keeps the lease of a process that rowlock did not start. leases/keeper and
# leases/life renew on every engine.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: sqlite/native
# Rest: sqlite postgresql

load lib

acquire_while() { # PID NAME [OPTION...]
    local pid=$1 name=$2
    shift 2
    rowlock acquire --ttl 20s --while-pid "$pid" "$@" "$name"
}
is_named() { # PID WORD: waits until the process runs that program
    [ "$(head -z -n 1 "/proc/$1/cmdline" | tr -d '\0')" = "$2" ]
}
start_that_notes_term() { # a process that writes the file told when it gets TERM
    mkfifo fifo
    start bash -c 'trap "touch told; exit 0" TERM; touch ready
        until false; do read -rt 0.02 <>fifo; done'
    until_true is_there ready
}
keeper_of() { item "$1" '$[0].pid'; }
renewed_since() { [[ $(item "$1" '$[0].expires') > $2 ]]; }

@test "it returns with the token, and releases when the process has ended" {
    start sleep 300
    until_true is_named "$started" sleep
    token=$(acquire_while "$started" one)
    [[ $token =~ ^[1-9][0-9]*$ ]]
    rowlock check one --token "$token"
    [ "$(item one '$[0].command')" = sleep ]
    keeper=$(keeper_of one)
    kill "$started"
    until_true is_free one
    until_true is_gone "$keeper"
}

@test "a lost connection does not lose the lease" {
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] || return 0
    start sleep 300
    token=$(acquire_while "$started" cut --ttl 5s)
    end_sessions
    until_true renewed_since cut "$(item cut '$[0].expires')"
    end_sessions
    until_true renewed_since cut "$(item cut '$[0].expires')"
    rowlock check cut --token "$token"
    kill "$started"
    until_true is_free cut
}

@test "the keeper is detached: own session, no terminal, no descriptor, no folder, no core" {
    start sleep 300
    exec 7<"$0"
    acquire_while "$started" alone 8>file
    exec 7<&-
    keeper=$(keeper_of alone)
    [ "$(ps -o sid= -p "$keeper" | tr -d ' ')" = "$keeper" ]
    [ "$(ps -o ppid= -p "$keeper" | tr -d ' ')" != $$ ]
    [ "$(readlink "/proc/$keeper/cwd")" = / ]
    for fd in 0 1 2; do [ "$(readlink "/proc/$keeper/fd/$fd")" = /dev/null ]; done
    run find "/proc/$keeper/fd" -lname "$PWD/file" -o -lname "$0" -o -lname '*pipe*'
    [ -z "$output" ]
    [ "$(stat -c %U "/proc/$keeper/environ")" = root ]
    kill "$started"
    until_true is_free alone
}

@test "p5 a broken lease: the process gets TERM, and the name is free when it has ended" {
    start_that_notes_term
    acquire_while "$started" broken --ttl 15s
    keeper=$(keeper_of broken)
    rowlock break broken
    until_true is_there told
    grep "^rowlock: process $started gets TERM: the lease of 'broken' (token [0-9]*) was broken$" \
        err
    wait "$started"
    until_true is_gone "$keeper"
    is_free broken
}

@test "the keeper keeps no descriptor of the caller, and still reports to a pipe and to a file" {
    for where in "2>&1 | cat >said" ">said 2>&1"; do
        rm -f said ready
        start sh -c "exec perl -e 'open F, q(>), q(ready); close F; sleep 300' $where"
        until_true is_there ready
        process=$(pgrep -P "$started" perl || echo "$started")
        said=$(acquire_while "$process" told --ttl 15s 2>&1) # ends while the keeper is at work
        [[ $said =~ ^[0-9]+$ ]]
        rowlock break --now told
        until_true grep -q \
            "process $process gets TERM: the lease of 'told' (token $said) has ended" said
        until_true is_gone "$process"
    done
    # a keeper whose output is closed, or not read any more, still ends
    start perl -e 'close STDERR; open F, q(>), q(ready2); close F; sleep 300'
    until_true is_there ready2
    acquire_while "$started" told --ttl 6s
    rowlock break --now told
    until_true is_gone "$started"
}

@test "p5 a database that does not answer: the process gets TERM before the lease can pass" {
    start_that_notes_term
    acquire_while "$started" blocked --ttl 3s
    keeper=$(keeper_of blocked)
    open_client
    case $ROWLOCK_TEST_ENGINE in
    sqlite) in_client 'PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE' ;;
    postgresql) in_client 'BEGIN; LOCK TABLE rowlock.lease' ;;
    mariadb) in_client 'LOCK TABLES rowlock_name WRITE' ;;
    esac
    until_true is_there told # the database is still blocked
    grep "gets TERM: the lease of 'blocked' could not be renewed in time" err
    close_client
    wait
    until_true is_gone "$keeper"
}

@test "a keeper that gets a signal to end ends the process first" {
    start sleep 300
    until_true is_named "$started" sleep # its standard error is the file
    acquire_while "$started" told
    keeper=$(keeper_of told)
    kill -s TERM "$keeper"
    until_true is_gone "$started"
    grep "gets TERM: the keeper of its lease of 'told' got signal 15" err
    until_true is_gone "$keeper"
    is_free told
}

@test "a lock that an ancestor holds is not waited for" {
    start sleep 300
    for verb in "acquire --ttl 1m" "acquire --while-pid $started" "hold --for 1m --note x"; do
        # shellcheck disable=SC2086
        run -75 rowlock run mine -- "$ROWLOCK" --db "$ROWLOCK_TEST_URL" $verb mine
        [[ $output == *ancestor* ]]
    done
}

@test "no such process: 64" {
    start true
    wait "$started"
    run -64 acquire_while "$started" missing
    [[ $output == *"no process $started"* ]]
    is_free missing
}

@test "busy: it waits, and an interrupted wait leaves no ticket" {
    token=$(rowlock acquire --ttl 1m busy)
    start sleep 300
    process=$started
    run -75 acquire_while "$process" busy -n
    # the first process is killed
    start_rowlock acquire --while-pid "$process" busy
    until_true is_waited_for busy
    kill -s KILL "$started"
    until_true nobody_waits_for busy
    # the process ends
    start_rowlock acquire --while-pid "$process" busy
    until_true is_waited_for busy
    kill "$process"
    ! wait "$started" || false
    nobody_waits_for busy
    [ ! -s out ]
    grep -q "process $process has ended" err
    # after the grant
    start sleep 300
    process=$started
    start_rowlock acquire --while-pid "$process" busy
    until_true is_waited_for busy
    rowlock release busy --token "$token"
    wait "$started"
    [ "$(item busy '$[0].token')" = "$(cat out)" ]
    kill "$process"
    until_true is_free busy
}

@test "a file named relative to the caller's folder" {
    [ "$ROWLOCK_TEST_ENGINE" = sqlite ] || return 0
    start sleep 300
    "$ROWLOCK" --db sqlite:here.db acquire --ttl 6s --while-pid "$started" near
    first=$("$ROWLOCK" --db sqlite:here.db ls near --json | json '$[0].expires')
    again() { [[ $("$ROWLOCK" --db sqlite:here.db ls near --json |
        json '$[0].expires') > $first ]]; }
    until_true again
    [ ! -e /here.db ]
    kill "$started"
}

@test "the keeper's message and the script's own lines appear in order in its log" {
    cat >script <<'END'
echo "begins, a line that is longer than the one after the signal"
rowlock acquire --ttl 15s --while-pid $$ logged >/dev/null
trap 'echo "a line that is longer than the one which the keeper writes," \
    "so that it would cover it: one two three four five six"; exit 3' TERM
touch ready
while :; do sleep 0.02; done
END
    PATH=$(dirname "$ROWLOCK"):$PATH ROWLOCK_URL=$ROWLOCK_TEST_URL start sh \
        -c 'exec sh script >log 2>&1'
    until_true is_there ready
    rowlock break --now logged
    wait "$started" || [ $? = 3 ]
    [ "$(wc -l <log)" = 3 ]
    sed -n 1p log | grep '^begins, .* signal$'
    sed -n 2p log |
        grep "^rowlock: process $started gets TERM: the lease of 'logged' (token [0-9]*) has ended$"
    sed -n 3p log | grep '^a line .* six$'
}

@test "below the process, a lock that would wait for its own lease is refused at once" {
    cat >script <<'END'
set -e
rowlock acquire --ttl 20s --while-pid $$ mine >/dev/null
rowlock acquire --ttl 20s -s --while-pid $$ ours >/dev/null
status() { "$@" && echo 0 || echo $?; }
status rowlock run mine -- touch ran >>seen
status sh -c 'rowlock run -w 60 other mine -- touch ran; exit $?' >>seen
status rowlock acquire --ttl 5s mine >>seen
status rowlock run -x ours -- touch ran >>seen
status rowlock run -s ours -- true >>seen
status rowlock run other -- true >>seen
touch done
END
    PATH=$(dirname "$ROWLOCK"):$PATH ROWLOCK_URL=$ROWLOCK_TEST_URL start sh script
    until_true is_there done
    wait "$started"
    [ "$(paste -sd ' ' seen)" = '75 75 75 75 0 0' ]
    [ ! -e ran ]
    reason="is held by your own ancestor process (acquire --while-pid): waiting would never end"
    [ "$(grep -c "^rowlock: 'mine' $reason$" err)" = 3 ]
    grep "^rowlock: 'ours' is held by your own ancestor" err
}

@test "a caller outside the process waits for its lease" {
    start sleep 300
    process=$started
    until_true is_named "$process" sleep
    acquire_while "$process" theirs
    start_rowlock run theirs -- touch ran
    until_true is_waited_for theirs
    kill "$process"
    wait "$started"
    [ -e ran ]
}

# As another user, binds the socket that the keeper of process PID would bind; SOCK_DGRAM is from
# older versions.
announce_as_another() { # PID TOKEN
    rm -f announced
    start perl -e 'use Socket; use POSIX; open my $ready, ">", "announced" or die;
        POSIX::setuid(65534) or die;
        for my $token (0, $ARGV[2]) { for my $type (SOCK_STREAM, SOCK_DGRAM) {
            socket(my $s, AF_UNIX, $type, 0) or die; push @all, $s;
            bind($s, pack("S a*", AF_UNIX, "\0rowlock/while/$ARGV[0]/$ARGV[1]/$token"))
                or die "bind: $!";
            $type == SOCK_DGRAM or listen($s, 10) or die; } }
        syswrite $ready, "announced"; sleep 600' "$(stat -Lc %i /proc/self/ns/pid)" "$1" "$2"
    until_true grep -q announced announced
}

@test "another user's announcement makes neither a lock nor a keeper fail" {
    [ "$(id -u)" = 0 ] || skip "two users want root"
    token=$(rowlock acquire --ttl 10m victim)
    # shellcheck disable=SC2016
    start sh -c 'until [ -e go ]; do sleep 0.02; done
        "$0" --db "$1" run -w 60 victim -- touch ran; exit $?' \
        "$ROWLOCK" "$ROWLOCK_TEST_URL"
    process=$started
    announce_as_another "$process" "$token"
    liar=$started
    touch go
    until_true is_waited_for victim
    rowlock release victim --token "$token"
    wait "$process"
    [ -e ran ]
    kill "$liar"
    start sleep 300
    process=$started
    until_true is_named "$process" sleep
    announce_as_another "$process" 1
    rowlock check kept --token "$(acquire_while "$process" kept)"
    kill "$process"
    until_true is_free kept
    kill "$started"
}

@test "the keeper is killed: the next check reports that the lease is not renewed, but lasts" {
    start sleep 300
    until_true is_named "$started" sleep
    token=$(acquire_while "$started" orphan --ttl 5m)
    rowlock check orphan --token "$token"
    keeper=$(keeper_of orphan)
    kill -s KILL "$keeper"
    until_true is_gone "$keeper"
    run -1 rowlock check orphan --token "$token"
    reason="its keeper, process $keeper, has ended; it ends in "
    [[ $output == *"the lease of 'orphan' (token $token) is not renewed any more: $reason"* ]]
    [ "$(rowlock --json check orphan --token "$token" | json '$.valid')" = 0 ]
    is_held orphan
    rowlock release orphan --token "$token"
    # a lease that no process keeps is still valid
    token=$(rowlock acquire --ttl 5m plain)
    rowlock check plain --token "$token"
    rowlock run run -- sh -c "'$ROWLOCK' --db '$ROWLOCK_TEST_URL' check run --token \$ROWLOCK_TOKEN"
}

@test "check in another PID namespace: the keeper's number there is no proof of its death" {
    refusal=$(unshare --pid --fork --mount-proc true 2>&1) || skip "no namespace here: $refusal"
    start sleep 300
    until_true is_named "$started" sleep
    token=$(acquire_while "$started" far --ttl 5m)
    for procs in --mount-proc ''; do # without it /proc shows the numbers of the outer namespace
        # shellcheck disable=SC2086
        unshare --pid --fork $procs "$ROWLOCK" --db "$ROWLOCK_TEST_URL" check far --token "$token"
    done
    keeper=$(keeper_of far)
    kill -s KILL "$keeper"
    until_true is_gone "$keeper"
    unshare --pid --fork --mount-proc "$ROWLOCK" --db "$ROWLOCK_TEST_URL" check far --token "$token"
    run -1 rowlock check far --token "$token"
}
