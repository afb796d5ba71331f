#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# refresh, use, expire, subjects: the article's table of observations by two sessions, repeated from
# the shell with a real cache table; and other behaviour of the command.
# Runs on: sqlite postgresql mariadb
# Quick: sqlite/native
# Rest: sqlite/native, because conformance/refresh and leases/refresh run on every engine

load lib

# ./app STATEMENT: a program that does not use rowlock, on the cache's own database.
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    subject="$BATS_TEST_NUMBER-cache"
    { echo '#!/bin/bash' && declare -f as_root_of_mariadb sql && echo 'sql "$1"'; } >app
    # refreshes the cache, which contains how often that was done
    cat >fill <<'FILL'
#!/bin/sh
echo x >>fills
./app "BEGIN; DELETE FROM data_cache; INSERT INTO data_cache VALUES ($(wc -l <fills)); COMMIT"
FILL
    # prints `inside`, and waits until it may continue
    cat >gate <<'GATE'
#!/bin/sh
[ $# = 0 ] || "$@"
touch "inside.$$"
until [ -e go ]; do sleep 0.02; done
GATE
    chmod +x app fill gate
    ./app "CREATE TABLE IF NOT EXISTS data_cache (n INTEGER)"
    ./app "DELETE FROM data_cache"
}

here() { "$ROWLOCK" --db "$ROWLOCK_TEST_URL" "$1" "$subject" "${@:2}"; }
start_here() { start_rowlock "$1" "$subject" "${@:2}"; }
inside() { # N: that many are inside now, or were
    [ "$(find . -name 'inside.*' | wc -l)" = "$1" ]
}
enter() { # VERB [OPTION...] -- gate: starts it in the background, and returns when it is inside
    local before
    before=$(find . -name 'inside.*' | wc -l)
    start_here "$@"
    until_true inside $((before + 1))
}
waits() { until_true is_waited_for "subject:$subject"; }
filled() { ./app "SELECT max(n) FROM data_cache"; }
of_subject() { rowlock --json subjects "$subject" | jq -r ".[0].$1"; }
# subject_has FIELD=VALUE...: in one answer; null is an empty value
subject_has() {
    rowlock --json subjects "$subject" |
        jq -r '.[0] as $s | $ARGS.positional[] | "\(.)=\($s[.] // "")"' --args "${@%%=*}" >fields
    diff <(printf '%s\n' "$@") fields
}

# ---- the article's table -----------------------------------------------------------------------

@test "row 1: of two concurrent refreshes one waits, and finds fresh data" {
    enter refresh --max-age 1h --json -- ./gate ./fill
    first=$started
    start sh -c '"$@" >second' sh "$ROWLOCK" --db "$ROWLOCK_TEST_URL" --json refresh "$subject" \
        --max-age 1h -- ./fill
    second=$started
    waits
    touch go
    wait "$first"
    wait "$second"
    [ "$(cat second)" = '{"refreshed":false}' ]
    [ "$(cat out)" = '{"refreshed":true}' ]
    [ "$(filled)" = 1 ]
}

@test "row 2: a refresh waits for users of the data" {
    here refresh --max-age 1h -- ./fill
    enter use -- ./gate
    using=$started
    here expire
    start_here refresh --max-age 1h -- ./fill
    waits
    [ "$(filled)" = 1 ]
    touch go
    wait "$using"
    wait "$started"
    [ "$(filled)" = 2 ]
}

@test "row 3: of two exclusive users one waits; shared ones use it together" {
    enter use -x -- ./gate
    first=$started
    start_here use -x -- true
    waits
    touch go
    wait "$first"
    wait "$started"
    rm go
    enter use -- ./gate
    enter use -- ./gate
    run -75 here use -x -n -- true
    touch go
}

@test "row 5: with -n it fails at once, and names the user of the data" {
    here refresh --max-age 1h -- ./fill
    enter use --note "the quarterly report" -- ./gate
    run -75 here refresh --max-age 0 -n -- ./app "DELETE FROM data_cache"
    [[ $output == *"subject:$subject"*"the quarterly report"* ]]
    touch go
    [ "$(filled)" = 1 ]
}

# ---- fresh data, and failures -----------------------------------------------------------------

@test "fresh data is not refreshed, and causes no wait; its age is by the database's clock" {
    [ "$(here refresh --json --max-age 1h -- ./fill)" = '{"refreshed":true}' ]
    enter use -x -- ./gate
    [ "$(here refresh --json --max-age 1h -- ./fill)" = '{"refreshed":false}' ]
    run -0 --separate-stderr here refresh --verbose --max-age 1h -- ./fill
    [ -z "$output" ]
    [[ $stderr == *"'$subject' is fresh"* ]]
    run -9 here refresh -E 9 --max-age 1h -- ./fill
    touch go
    [ "$(filled)" = 1 ]
}

@test "a failing command's status is passed through, its message kept, and the next call retries" {
    here refresh --max-age 1h -- ./fill
    here expire
    run -3 here refresh --json --max-age 1h -- sh \
        -c 'echo half done; echo one >&2; echo "no route to the source" >&2; exit 3'
    [[ $output == *'{"refreshed":false}'* ]]
    [[ $output == *"half done"* ]]
    subject_has status=ERROR error="exit 3: no route to the source" exit=3
    run how_it_ended "$ROWLOCK" --db "$ROWLOCK_TEST_URL" refresh "$subject" --max-age 1h -- sh \
        -c 'kill -9 $$'
    [[ $output == *"signal 9"* ]]
    subject_has error="killed by signal 9" exit=137
    here refresh --max-age 1h -- ./fill
    subject_has status=COMPLETE error=
    [ "$(filled)" = 2 ]
}

@test "while a command runs every session sees the subject as processing" {
    enter refresh --max-age 1h --description "rates of the day" -- ./gate ./fill
    subject_has status=PROCESSING description="rates of the day" by=./gate pid="$started" \
        host="$(hostname)" ended=
    [[ $(of_subject began) =~ ^20[0-9-]+T[0-9:]+\.[0-9]{3}Z$ ]]
    touch go
    wait "$started"
    subject_has status=COMPLETE
    [[ $(of_subject updated) =~ ^20[0-9-]+T[0-9:]+\.[0-9]{3}Z$ ]]
}

@test "p5: a command that exits with 0 because the lock is lost has not refreshed" {
    start_here refresh --max-age 1h --ttl 6s -- \
        perl -e '$SIG{TERM} = sub { exit 0 };
            open my $f, ">", "inside.$$"; close $f; sleep 1 while 1'
    until_true inside 1
    command=$(echo inside.*)
    kill -s STOP "$started" # no renewal succeeds; the guard ends the command
    until_true is_gone "${command#inside.}"
    kill -s CONT "$started"
    ends_with 123 "$started"
    subject_has status=ERROR
    here refresh --max-age 1h -- touch made
    [ -e made ]
}

@test "p5: if the lease is too old before the command starts, it does not run; the next refreshes" {
    start_too_late "subject:$subject" refresh --verbose --max-age 1h --ttl 4s "$subject" -- touch \
        ran
    ends_with 123 "$started"
    [ ! -e ran ]
    subject_has status=ERROR
    here refresh --max-age 1h -- touch made
    [ -e made ]
    subject_has status=COMPLETE
}

@test "a refused call exits with 75, or the status of -E; -w limits the wait" {
    enter refresh --max-age 1h -- ./gate
    run -75 here refresh --max-age 1h -n -- ./fill
    run -0 here refresh --max-age 1h -n -E 0 -- ./fill
    run -75 here refresh --max-age 1h -w 1 -- ./fill
    run -7 here use -w 1 -E 7 -- true
    touch go
}

# ---- --stale-ok --------------------------------------------------------------------------------

@test "--stale-ok: during another's refresh a caller continues with the old data" {
    here refresh --max-age 1h -- ./fill
    enter refresh --max-age 0 -- ./gate ./fill
    run -0 --separate-stderr here refresh --stale-ok --json --verbose --max-age 0 -- ./fill
    [ "$output" = '{"refreshed":false}' ]
    [[ $stderr == *"being refreshed by another node"* ]]
    here expire # the data exists nevertheless
    here refresh --stale-ok --max-age 1h -- ./fill
    touch go
    wait "$started"
    [ "$(filled)" = 2 ]
}

@test "--stale-ok: without any old data there is nothing to continue with" {
    enter refresh --max-age 1h -- ./gate ./fill
    run -75 here refresh --stale-ok -n --max-age 1h -- ./fill
    start sh -c '"$@" >second' sh "$ROWLOCK" --db "$ROWLOCK_TEST_URL" --json refresh "$subject" \
        --stale-ok --max-age 1h -- ./fill
    waits
    touch go
    wait "$started"
    [ "$(cat second)" = '{"refreshed":false}' ]
    [ "$(filled)" = 1 ]
}

@test "--stale-ok: still waits for users of the data, otherwise it would never refresh" {
    here refresh --max-age 1h -- ./fill
    enter use -- ./gate
    using=$started
    start_here refresh --stale-ok --max-age 0 -- ./fill
    waits
    here refresh --stale-ok --max-age 0 -- ./fill # behind another waiter
    touch go
    wait "$using"
    wait "$started"
    [ "$(filled)" = 2 ]
}

# ---- use ---------------------------------------------------------------------------------------

@test "use --max-age --refresh refreshes stale data, and then uses it" {
    run -0 here use --max-age 1h --refresh './fill; echo "$ROWLOCK_NAME"' -- sh \
        -c 'echo "using $ROWLOCK_NAME"; ./app "SELECT n FROM data_cache"'
    [ "$(paste -sd/ <<<"$output")" = "subject:$subject/using subject:$subject/1" ]
    run here use --max-age 1h --refresh ./fill -- ./app "SELECT n FROM data_cache"
    [ "$output" = 1 ]
    run here use --max-age 0 --refresh ./fill -- ./app "SELECT n FROM data_cache"
    [ "$output" = 2 ]
    subject_has exit=0
}

@test "use: after a failed refresh the command does not run; the status is that of the failure" {
    run -4 here use --max-age 1h --refresh 'echo no source >&2; exit 4' -- touch used
    [ ! -e used ]
    subject_has error="exit 4: no source"
    run -6 here use -- sh -c 'exit 6'
}

@test "use: data that another's refresh has left incomplete is not used, but refreshed" {
    start_here use --max-age 1h --refresh './fill; ./gate' -- ./app \
        "SELECT count(*) FROM data_cache"
    local using=$started
    until_true inside 1
    start_here refresh --max-age 0 -- sh -c './app "DELETE FROM data_cache"; exit 3'
    waits
    touch go
    ends_with 3 "$started"
    wait "$using"
    [ "$(cat out)" = 1 ]
    [ "$(wc -l <fills)" = 2 ]
    subject_has status=COMPLETE
}

@test "use: a signal ends its wait, also the one after the refresh" {
    cat >block <<'BLOCK'
#!/bin/sh
./fill
env -u ROWLOCK_HELD "$ROWLOCK_BIN" --db "$ROWLOCK_TEST_URL" acquire --ttl 60s -w 1h "subject:$1" \
    >token 2>/dev/null &
until "$ROWLOCK_BIN" --db "$ROWLOCK_TEST_URL" ls "subject:$1" | grep -q ' waiting '; do
    sleep 0.02
done
BLOCK
    chmod +x block
    export ROWLOCK_BIN=$ROWLOCK
    start_here use --max-age 1h --refresh "./block $subject" -- touch used
    using=$started
    taken() { [ -s token ] && is_waited_for "subject:$subject"; }
    until_true taken
    end_by_term "$using"
    [ ! -e used ]
}

@test "beneath its own refresh a caller does not wait for it" {
    run -75 here refresh --max-age 1h -- "$ROWLOCK" --db "$ROWLOCK_TEST_URL" use "$subject" -- true
    [[ $output == *"your own ancestor"* ]]
    run -75 here use -- "$ROWLOCK" --db "$ROWLOCK_TEST_URL" refresh "$subject" --max-age 1h -- true
    here use -- "$ROWLOCK" --db "$ROWLOCK_TEST_URL" use "$subject" -- touch both
    [ -e both ]
}

# ---- expire, subjects --------------------------------------------------------------------------

@test "expire makes data stale, whatever its age, also during a refresh" {
    run -0 --separate-stderr here expire
    [[ $stderr == *"nothing to expire"* ]]
    [ "$(here expire --json)" = '{"expired":false}' ]
    enter refresh --max-age 1h -- ./gate ./fill
    [ "$(here expire --json)" = '{"expired":true}' ]
    touch go
    wait "$started"
    subject_has status=COMPLETE updated= age_ms=
    [[ $(here subjects) =~ $'\n'"$subject"\ +COMPLETE\ +expired\  ]]
    [ "$(here refresh --json --max-age 1h -- ./fill)" = '{"refreshed":true}' ]
    [ "$(here refresh --json --max-age 1h -- ./fill)" = '{"refreshed":false}' ]
}

@test "subjects shows all or one, as a table and as JSON" {
    run -1 here subjects
    [ "$(rowlock --json subjects "$subject" || true)" = "[]" ]
    here refresh --max-age 1h --description "'quoted' \"text\"" -- ./fill
    "$ROWLOCK" --db "$ROWLOCK_TEST_URL" refresh "$subject 2" --max-age 1h -- sh -c 'exit 2' || true
    keys=$(rowlock --json subjects "$subject" |
        json_sql "(SELECT group_concat(key || ':' || type) FROM json_each(document, '\$[0]'))")
    expected=subject:text,status:text,age_ms:integer,ended:text,began:text,updated:text
    expected+=,by:text,host:text,pid:integer,description:text,error:null,exit:integer
    [ "$keys" = "$expected" ]
    subject_has description="'quoted' \"text\""
    rowlock --json subjects | json_sql "json_array_length(document)" >count
    [ "$(cat count)" -ge 2 ]
    run -0 rowlock subjects
    [[ ${lines[0]} == SUBJECT*STATUS*AGE*ENDED*BY*ABOUT* ]]
    grep -q "^$subject  *COMPLETE " <<<"$output"
    grep -q "^$subject 2  *ERROR .*exit 2" <<<"$output"
}
