#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# run, job, cron, refresh, use: processes that rowlock cannot end, because it may not signal them or
# cannot see them. The lock is kept for them until they have ended.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: sqlite/native
# Rest: sqlite/native postgresql/native: a transaction, and a lease of a server

load lib
load run.bash
load cron.bash

# Rowlock has no CAP_KILL, and a process of its command becomes another user: as behind sudo. That
# process works until the file stop exists; its pid is in the file foreign.
setup() {
    [ "$(id -u)" = 0 ] || skip "a process of another user needs root"
    cd "$BATS_TEST_TMPDIR" || return 1
    chmod 777 .
    cat >work <<WORK
$(pid_into foreign)
exec perl -e 'select undef, undef, undef, 0.02 until -e "stop"'
WORK
    cat >as_other <<'OTHER'
exec setpriv --reuid=65534 --regid=65534 --clear-groups -- sh "${1:-work}"
OTHER
}
teardown() {
    touch stop
    end_started
    [ ! -s foreign ] || end_here "$(cat foreign)"
}
no_kill=(setpriv --bounding-set=-kill --inh-caps=-kill --ambient-caps=-kill)
without_kill() { "${no_kill[@]}" "$@"; }
start_without_kill() { # VERB...
    start "${no_kill[@]}" "$ROWLOCK" --db "$ROWLOCK_TEST_URL" "$@"
    holder=$started
}
has_said() { grep -q "$1" err; }
has_said_or_ended() { has_said "$1" || is_gone "$holder"; }
# The lock is kept: the message is there once, and a waiter has to wait.
kept="process of it cannot be ended: [0-9]*; the lease is kept until it has ended, or until"
is_kept() { # NAME WHY
    until_true has_said_or_ended 'cannot be ended'
    local message="the command under '$1' $2, but 1 $kept rowlock break revokes it"
    [ "$(grep -c "^rowlock: $message" err)" = 1 ]
    is_there_again "$(cat foreign)"
    is_held "$1"
}
is_renewed() { # NAME: once more
    local expires
    expires=$(item "$1" '$[0].expires')
    later() { [[ $(item "$1" '$[0].expires') > $expires ]]; }
    until_true later "$1"
}
waits_until_stop() { # NAME: the next waiter gets the lock when the process has ended, not before
    start_next "$1" foreign
    is_renewed "$1"
    is_renewed "$1"
    [ ! -e passed ]
    touch stop
    next_has_passed
}

@test "p5: --max-run: a process that may not be signalled keeps the lease, and then it is 124" {
    start_without_kill run --ttl 3s --kill-after 100ms --max-run 500ms a -- sh -c \
        "setsid sh -c '$(pid_into daemon); exec sleep 970' & sh as_other; true"
    is_kept a 'exceeded --max-run'
    is_gone "$(cat daemon)"
    waits_until_stop a
    ends_with 124 "$holder"
    has_said "^rowlock: the processes of the command under 'a' have ended"
    [ "$(grep -c 'cannot be ended' err)" = 1 ]
}

@test "p5: a signal is passed on: a process that may not get it keeps the lease" {
    start_without_kill run --ttl 3s a -- sh -c 'sh as_other; true'
    until_true is_there foreign
    kill -s TERM "$holder"
    is_kept a 'ended after a signal'
    waits_until_stop a
    ends_with 143 "$holder"
}

@test "a command that ends by itself leaves such a process behind, without the lock" {
    start_without_kill run a -- sh -c 'sh as_other & until [ -e foreign ]; do sleep 0.02; done'
    ends_with 0 "$holder"
    is_free a
    has_said "^rowlock: 1 process that the command started runs on without the lock on 'a'"
}

@test "p5: the guard is killed: rowlock itself keeps the lease for such a process" {
    start_without_kill run --ttl 3s a -- sh -c 'sh as_other; true'
    until_true is_there foreign
    kill -s KILL "$(guard_of "$holder")"
    is_kept a 'lost its guard process'
    waits_until_stop a
    ends_with 125 "$holder"
}

@test "such a lease can be broken: 123, and the message names the process" {
    start_without_kill run --ttl 3s --kill-after 100ms --max-run 500ms a -- sh as_other
    is_kept a 'exceeded --max-run'
    rowlock break a
    ends_with 123 "$holder"
    is_free a
    has_said "^rowlock: 1 process of the command did not end: $(cat foreign)$"
}

@test "rowlock is killed while such a process works: the guard reports it" {
    start_without_kill run --ttl 3s --kill-after 100ms a -- sh as_other
    until_true is_there foreign
    guard=$(guard_of "$holder")
    kill -s KILL "$holder"
    until_true is_gone "$guard"
    left="1 process of the command could not be ended: $(cat foreign)"
    has_said "^rowlock: rowlock itself was killed: $left$"
}

@test "p5: run --tx --max-run: the transaction stays open for such a process" {
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] || return 0
    start_without_kill run --tx --kill-after 100ms --max-run 500ms a -- sh as_other
    until_true has_said_or_ended 'cannot be ended'
    has_said 'the transaction is kept until it has ended$'
    run -75 rowlock run --tx -n a -- true
    start_next a foreign
    [ ! -e passed ]
    touch stop
    next_has_passed
    ends_with 124 "$holder"
}

@test "p5: refresh and use: TERM does not reach such a process, and the lease is kept" {
    for verb in 'refresh --max-age 0' use; do
        rm -f stop foreign passed err
        # shellcheck disable=SC2086
        start_without_kill $verb --ttl 3s data -- sh -c 'sh as_other; true'
        until_true is_there foreign
        kill -s TERM "$holder"
        is_kept subject:data 'ended after a signal'
        touch stop
        ends_with 143 "$holder"
        is_free subject:data
    done
}

@test "p5: cron: a job whose run cannot be ended has no second run meanwhile" {
    echo 'echo tidy >>ran; exec sh as_other' >tidy
    cat >tab <<'TAB'
every 1s tidy --ttl 3s --kill-after 100ms --max-run 500ms -- sh tidy
every 1s other -- echo other >>ran
TAB
    start_without_kill cron tab
    until_true has_said "cannot be ended\|did not end"
    has_said "'job:tidy' exceeded --max-run, but 1 $kept"
    others=$(grep -c other ran || true)
    until_true has_run other $((others + 4))
    [ "$(grep -c tidy ran)" = 1 ]
    is_held job:tidy
    touch stop
    until_true has_run tidy 2
    has_said '^rowlock: tidy: ended with status 124 after'
    kill -s TERM "$holder"
    ends_with 0 "$holder"
}

@test "acquire --while-pid: a process that has changed its user keeps the lease, and is named" {
    start perl -e 'use POSIX; open my $ready, ">", "ready"; select undef, undef, undef, 0.02
        until -e "change"; POSIX::setuid(65534); open my $file, ">", "foreign"; print $file $$;
        close $file; select undef, undef, undef, 0.02 until -e "stop"'
    process=$started
    until_true is_there ready
    without_kill "$ROWLOCK" --db "$ROWLOCK_TEST_URL" acquire --ttl 3s --while-pid "$process" a \
        2>>err
    touch change
    until_true has_text foreign
    keeper=$(item a '$[0].pid')
    kill -s TERM "$keeper"
    changed="process $process has changed its user and cannot be ended"
    until_true has_said "^rowlock: $changed: the keeper of its lease of 'a' got signal 15"
    waits_until_stop a
    until_true is_gone "$keeper"
}

# ---- before the start --------------------------------------------------------------------------

@test "a set-user-ID program of another user is announced, also as the first word of a shell" {
    cp "$(type -P true)" up
    chown 65534 up
    chmod 4755 up
    announced="is a set-user-ID program of $(stat -c %U up), which this user may be unable to end"
    without_kill "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run a -- ./up 2>err
    grep "^rowlock: ./up $announced" err
    without_kill "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run a -c './up; true' 2>err
    grep "^rowlock: ./up $announced" err
    PATH=$PWD:$PATH without_kill "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run a -c 'exec up' 2>err
    grep "^rowlock: up $announced" err
    without_kill --no-new-privs "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run a -- ./up 2>err
    without_kill "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run a -- sh -c 'true; ./up' 2>>err
    without_kill "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run a -c "'./up'" 2>>err
    leased a -- ./up 2>>err # root may end it
    [ ! -s err ]
}

@test "p5: without /proc: the start warns, and the lease is kept for a process that is not found" {
    [ -z "${SANITIZE:-}" ] || return 0 # AddressSanitizer needs /proc
    refusal=$(unshare --mount true 2>&1) || skip "this machine refuses unshare: $refusal"
    start unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$ROWLOCK" --db \
        "$ROWLOCK_TEST_URL" run --ttl 3s --kill-after 100ms --max-run 500ms a -- sh -c \
        'setsid sh work & exec sleep 970'
    holder=$started
    until_true has_said_or_ended 'cannot be ended: '
    has_said '^rowlock: /proc does not show the processes: one that the command moves into another'
    has_said "'a' exceeded --max-run, but 1 process of it cannot be ended: not visible in /proc;"
    is_there_again "$(cat foreign)"
    waits_until_stop a
    ends_with 124 "$holder"
}
