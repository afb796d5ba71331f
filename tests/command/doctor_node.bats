#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# doctor: the checks of this node, and databases that cannot be asked.
# Runs on: alone

load lib
load doctor.bash

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    unset ROWLOCK_URL ROWLOCK_URL_FILE ROWLOCK_REQUIRE_URL
    here=$BATS_TEST_TMPDIR
    export HOME=$here/home XDG_CONFIG_HOME=$here/config XDG_STATE_HOME=$here/state
    mkdir -p home config/rowlock
}
rowlock() { "$ROWLOCK" "$@"; }
# in_private FLAG...: sets private to an unshare with these namespaces. Where the machine refuses
# them, as in many containers and behind chroot, the test is not run.
in_private() {
    local refusal
    private="unshare $*"
    [ "$(id -u)" = 0 ] || private="unshare --user --map-root-user $*"
    refusal=$($private true 2>&1) || skip "this machine refuses $private: $refusal"
}

@test "url: --db, with and without a password, the environment, a file, none" {
    finds ok url '*--db, sqlite:x.db' --db sqlite:x.db
    finds warn url '*--db, *its password was on the command line*-> *ROWLOCK_URL_FILE' \
        --db postgresql://me:secret@127.0.0.1:1/x
    [[ $output != *secret* ]]
    ROWLOCK_URL=sqlite:x.db finds ok url '*ROWLOCK_URL, sqlite:x.db: in the environment, *'
    echo sqlite:x.db >url
    chmod 600 url
    ROWLOCK_URL=sqlite:y.db ROWLOCK_URL_FILE=$here/url finds warn url \
        "*ROWLOCK_URL, sqlite:y.db: it overrides '$here/url', which names another database*-> *"
    ROWLOCK_URL=sqlite:x.db ROWLOCK_URL_FILE=$here/url finds ok url '*ROWLOCK_URL, sqlite:x.db: *'
    ROWLOCK_URL_FILE=$here/url finds ok url "*'$here/url' (mode 600, of $(id -un)), sqlite:x.db"
    if [ "$(id -u)" = 0 ]; then
        chmod 640 url
        ROWLOCK_URL_FILE=$here/url finds ok url \
            "*'$here/url' (mode 640, of root, readable by the group root), sqlite:x.db"
    fi
    finds warn url '*no database was named: sqlite:*rowlock.db is of this user*-> name *'
    [ ! -e state ]
}

@test "url: a file that others can read, an invalid URL: a failure, and 64" {
    echo sqlite:x.db >url
    chmod 604 url
    for only in url schema; do
        ROWLOCK_URL_FILE=$here/url run -64 rowlock doctor --only $only
        [ "${#lines[@]}" = 1 ]
        [[ $output == FAIL*url*"others can read or change it; run: chmod 600 '$here/url'"* ]]
    done
    run rowlock --db nonsense doctor
    [ "$status" = 64 ] || [ "$status" = 69 ]
    [[ $output == *FAIL* ]]
    [[ $output == *"guard"* ]]
}

@test "server: a SQLite file that does not exist is a warning, and not created" {
    run -1 rowlock --db sqlite:new.db doctor
    [[ $output == *"warn  server "*"the file 'new.db' does not exist yet  -> the first lock"* ]]
    for only in server schema privileges jobs self-test; do
        runs 1 rowlock --db sqlite:new.db doctor --only $only
        [ "${#lines[@]}" = 1 ]
        [[ $output == "warn  server "*"'new.db' does not exist yet"* ]]
    done
    [ ! -e new.db ]
    run -1 rowlock --db local doctor --only server
    [[ $output == "warn  server "*"does not exist yet"* ]]
    for only in url guard; do # without the database
        run rowlock --db sqlite:new.db doctor --only $only
        [ "$status" -le 2 ]
    done
    run -69 rowlock --db sqlite:nosuch/new.db doctor --only schema
    [[ $output == FAIL*server*"its folder must exist"* ]]
    rowlock --db sqlite:new.db schema install
    finds ok schema '*complete*' --db sqlite:new.db
    finds ok durability '*after a crash of the machine *' --db sqlite:new.db
}

@test "schema: a SQLite file without rowlock's tables stays as it is" {
    sqlite3 other.db 'CREATE TABLE mine (x)'
    was=$(sqlite3 other.db .dump)
    run -2 rowlock --db sqlite:other.db doctor
    [[ $output == *"FAIL  schema"* && $output != *self-test* ]]
    [ "$(sqlite3 other.db .dump)" = "$was" ]
}

@test "driver: its version; a client library that is missing" {
    rowlock --db sqlite:new.db schema install
    finds ok driver '*libsqlite3 3.*, rowlock *' --db sqlite:new.db
    ROWLOCK_LIBJVM=/nonexistent run ! rowlock --db "jdbc:h2:tcp://127.0.0.1/x" doctor --only driver
    [[ $output == FAIL* ]]
}

@test "guard and proc: it ends a command and its daemon; without /proc it cannot" {
    finds ok guard '*it ended a command and its daemon in * ms'
    finds ok proc '*all processes are visible'
    [ "$(pgrep -c -P 1 -f 'doctor --only guard')" = 0 ]
    in_private --mount
    [ -z "${SANITIZE:-}" ] || return 0 # AddressSanitizer needs /proc
    for check in guard proc; do
        run -2 $private sh -c 'mount -t tmpfs none /proc && exec "$0" doctor --only "$1"' \
            "$ROWLOCK" $check
        [[ $output == FAIL*$check*"  -> "* ]]
    done
}

@test "proc: the processes of other users are hidden; rowlock is process 1" {
    [ "$(id -u)" = 0 ] || return 0 # the mount needs root
    in_private --pid --fork --mount-proc
    run -0 $private "$ROWLOCK" doctor --only proc
    run -1 unshare --pid --fork --mount sh -c 'mount -t proc -o hidepid=2 proc /proc &&
        setpriv --reuid=65534 --regid=65534 --clear-groups "$0" doctor --only proc; exit $?' \
        "$ROWLOCK"
    [[ $output == warn*proc*"processes of other users are hidden"*"ProtectProc=default" ]]
}

@test "init: a process 1 that waits for children, one that does not, rowlock itself" {
    in_private --pid --fork --mount-proc
    run -0 $private bash -c 'trap : CHLD; "$0" doctor --only init; exit $?' "$ROWLOCK"
    [[ $output == ok*init*"process 1 is bash" ]]
    # in fork() of newer C libraries process 1 blocks all signals: it must have begun to wait
    run -1 $private setsid --fork --wait sh -c 'until grep -q "^State:.S" /proc/1/status; do :; done
        exec "$0" doctor --only init' "$ROWLOCK"
    [[ $output == warn*"process 1, setsid, does not wait for SIGCHLD"*"docker run --init"* ]]
    run -1 $private "$ROWLOCK" doctor --only init
    [[ $output == warn*"rowlock is process 1"* ]]
}

# in_service UNIT MODE: doctor in a service, as the kernel and systemctl report it
in_service() {
    in_private --mount
    mkdir -p bin
    printf '#!/bin/sh\necho "$@" >>asked\n[ -n "%s" ] && echo "%s"\n' "$2" "$2" >bin/systemctl
    chmod 755 bin/systemctl
    echo "0::$1" >cgroup
    run $private sh -c 'mount --bind cgroup /proc/$$/cgroup && PATH=$PWD/bin:$PATH \
        exec "$0" doctor --only systemd' "$ROWLOCK"
    echo "$status: $output"
}
@test "systemd: KillMode=mixed is ok; others, or none that is reported, are warnings" {
    finds ok systemd '*not in a service of systemd'
    in_service /system.slice/app.service mixed
    [ "$status" = 0 ]
    [[ $output == ok*"app.service has KillMode=mixed" ]]
    [ "$(cat asked)" = "--system show --property=KillMode --value -- app.service" ]
    in_service /user.slice/user-1000.slice/user@1000.service/app.slice/mine.service process
    [ "$status" = 1 ]
    [[ $output == warn*"mine.service has KillMode=process: processes of a command may outlive"* ]]
    [[ $(tail -n 1 asked) == "--user show "* ]]
    in_service /system.slice/app.service control-group
    [ "$status" = 1 ]
    [[ $output == warn*"KillMode=control-group"*"-> set KillMode=mixed"* ]]
    in_service /system.slice/app.service ""
    [ "$status" = 1 ]
    [[ $output == warn*"systemctl does not report the KillMode of app.service"* ]]
}
