#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A farm with programs of this version and of the next one (tests/next), while its schema is of
# either version, and while it is upgraded under them.
# Runs on: sqlite/native postgresql/native mariadb/row

# shellcheck disable=SC2086 # lists of words
load lib

now=$ROWLOCK next=${ROWLOCK%/*}/next/rowlock
by() { "$1" --db "$ROWLOCK_TEST_URL" "${@:2}"; } # PROGRAM VERB...
upgrade() { by "$next" schema upgrade; }
version() { sql "SELECT version FROM ${ours}meta"; }
other() { if [ "$1" = "$now" ]; then echo "$next"; else echo "$now"; fi; } # PROGRAM

setup_file() { :; }
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    ROWLOCK=$now
    install_technique
}
teardown() {
    end_started
    ROWLOCK=$next
    rowlock schema uninstall --force
}

# Each verb by one program, and what it leaves by the other.
uses_all() { # PROGRAM
    local one=$1 two name=$((names += 1)) token
    two=$(other "$one")
    by "$one" run "$name" -- true
    by "$one" run "$name" "$name 2" -- true
    by "$one" run --shared "$name" -- true
    by "$one" run --limit 5 "$name permits" -- true
    [ "$ROWLOCK_TEST_ENGINE" = sqlite ] || by "$one" run --tx "$name" -- true
    token=$(by "$one" acquire --ttl 1h "$name")
    run -75 by "$two" run -n "$name" -- true
    by "$two" check "$name" --token "$token"
    by "$two" renew "$name" --token "$token"
    by "$one" renew "$name" --token "$token"
    by "$two" release "$name" --token "$token"
    by "$one" acquire --ttl 1h "$name"
    by "$two" break --now "$name"
    by "$one" job "$name" --every 50w -- true
    by "$two" job "$name" --every 50w -- false # it is not due
    run -0 by "$two" jobs "$name"
    [[ $output == *done* ]]
    by "$one" refresh "$name" --max-age 1h -- true
    by "$two" refresh "$name" --max-age 1h -- false # it is fresh
    by "$two" use "$name" -- true
    [ "$(by "$one" next "$name")" = 1 ]
    [ "$(by "$two" next "$name")" = 2 ]
    [ "$(by "$one" next --count 3 "$name")" = "$(printf '3\n4\n5')" ]
    by "$two" ls >/dev/null
    by "$two" subjects >/dev/null
    by "$two" vacuum
    [ "$(by "$two" log --json --name "$name" | json_sql "json_array_length(document)")" -gt 0 ]
}
names=0

@test "programs of both versions share locks, jobs, counters and history, on either schema" {
    by "$now" schema set history all
    uses_all "$now"
    uses_all "$next"
    [ "$(version)" = 1 ]
    upgrade
    uses_all "$now"
    uses_all "$next"
    [ "$(version)" = 2 ]
    [ "$(by "$now" next 1)$(by "$next" next 2)" = 66 ]
}

# A process of its own renews it, over a connection that acquired nothing.
@test "a kept lease of the newer program is renewed on the older schema, and after an upgrade" {
    local began
    sleep 1000 &
    pid=$!
    by "$next" acquire --ttl 5s --while-pid $pid kept
    expires() { by "$now" ls --json kept | json "\$[0].expires"; }
    was_renewed() { [[ $(expires) > "$began" ]]; }
    for version in 1 2; do
        began=$(expires)
        until_true was_renewed
        began=$(expires)
        until_true was_renewed
        [ "$version" = 2 ] || upgrade
    done
    kill $pid
    until_true is_free kept
}

# Starts work for the time of the upgrade: a holder and a waiter behind it, a run of a job, a
# refresh; each by one program, and its successor by the other.
begin_work() { # PROGRAM WORD
    local file=go-$2
    keep_places "held $2"
    start "$1" --db "$ROWLOCK_TEST_URL" run "held $2" -- "$BATS_TEST_TMPDIR/work" "$file" "run $2"
    workers+=("$started")
    start "$1" --db "$ROWLOCK_TEST_URL" job "job $2" --every 50w -- \
        "$BATS_TEST_TMPDIR/work" "$file" "job $2"
    workers+=("$started")
    start "$1" --db "$ROWLOCK_TEST_URL" refresh "data $2" --max-age 0 -- \
        "$BATS_TEST_TMPDIR/work" "$file" "data $2"
    workers+=("$started")
    until_true is_there "run $2"
    until_true is_there "job $2"
    until_true is_there "data $2"
    start "$(other "$1")" --db "$ROWLOCK_TEST_URL" run "held $2" -- true
    workers+=("$started")
    until_true is_waited_for "held $2"
}
end_work() { # of all
    local worker
    touch go-old go-new
    for worker in "${workers[@]}"; do ends_with 0 "$worker"; done
}
make_work() { # a command that reports its start, and ends when a file exists
    workers=()
    cat >work <<'END'
#!/bin/sh
cd "$(dirname "$0")" && echo >"$2" && until [ -e "$1" ]; do sleep 0.02; done
END
    chmod +x work
}

@test "p1 work of both programs that is under way when the schema is upgraded ends as it should" {
    local job
    make_work
    begin_work "$now" old
    begin_work "$next" new
    upgrade
    [ "$(version)" = 2 ]
    for job in old new; do
        run -75 by "$now" run -n "held $job" -- true
        run -75 by "$next" run -n "held $job" -- true
    done
    end_work
    for job in old new; do
        run -0 by "$now" jobs "job $job"
        [[ $output == *done* ]]
        by "$next" use "data $job" -- true
        ! by "$next" ls "held $job" || false
    done
}

@test "p1 work that began on the newer schema ends as it should, also by the older program" {
    make_work
    upgrade
    begin_work "$now" old
    begin_work "$next" new
    end_work
    ! by "$now" ls "held old" || false
    ! by "$next" ls "held new" || false
}

@test "an upgrade leaves the procedures as they are that it does not change" {
    [ "$ROWLOCK_TEST_ENGINE" = mariadb ] || return 0 # elsewhere no call waits for their replacement
    sql "ALTER PROCEDURE rowlock_lock_wants COMMENT 'kept'"
    upgrade
    [ "$(sql "SELECT routine_comment FROM information_schema.routines
               WHERE routine_schema = DATABASE() AND routine_name = 'rowlock_lock_wants'")" = kept ]
}
