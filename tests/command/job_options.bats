#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# job, jobs, cron: wrong usage. url.bats runs them without a database URL.

load lib

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    export ROWLOCK_TEST_URL="sqlite:$BATS_TEST_TMPDIR/test.db"
    export HOME=$BATS_TEST_TMPDIR XDG_STATE_HOME=$BATS_TEST_TMPDIR/state \
        XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
    unset ROWLOCK_URL ROWLOCK_URL_FILE
}
refused() { # WORD ARGUMENT...: exits with 64 and a message that contains WORD
    local word=$1
    shift
    runs 64 rowlock "$@"
    [[ ${lines[0]} == "rowlock: "*"$word"* ]]
    [ ! -e test.db ]
}

@test "job: every mistake has a message, and no database is opened" {
    refused "NAME" job --every 5m -- true
    refused "unexpected argument: 'b'" job a b --every 5m -- true
    refused "either --every DUR or --cron" job a -- true
    refused "exclude each other" job a --every 5m --cron '@daily' -- true
    refused "command is missing" job a --every 5m
    refused "command is missing" job a --every 5m --
    # unit/schedule_mistakes_test has all of a schedule, unit/crontab_test those of a job's settings
    refused '"soon" is not a period' job a --every soon -- true
    refused "minute: \"60\"" job a --cron '60 * * * *' -- true
    refused "Nowhere" job a --cron '@daily' --tz Nowhere -- true
    refused "it has no time zone" job a --every 5m --tz UTC -- true
    refused "251 bytes" job "$(printf 'x%.0s' {1..252})" --every 5m -- true
    refused "empty" job "" --every 5m -- true
    refused "UTF-8" job $'\xff' --every 5m -- true
    refused "--retry: 'x'" job a --every 5m --retry x -- true
    refused "--history must be 2 at least" job a --every 5m --on-failure true --history 1 -- true
    refused "--conflict-exit-code" job a --every 5m -E 256 -- true
}

@test "jobs and cron: every mistake has a message" {
    refused "unexpected" jobs a b
    refused "--limit is for the history" jobs --limit 3
    refused "--limit is for the history" jobs a --check --limit 3
    refused "NAME is missing" jobs --forget
    refused "exclude each other" jobs a --check --forget
    refused "exclude each other" jobs a --now --forget
    refused "--now: a NAME is missing" jobs --now
    refused "--limit is for the history" jobs a --now --limit 3
    refused "empty" jobs ""
    refused "FILE" cron
    refused "unexpected" cron a b
    refused "--grace" cron a --grace soon
    refused "--prefix is for the daemon" cron --check --prefix nosuch
    refused "cannot read 'nosuch'" cron nosuch
    refused "is not a regular file" cron --check .
}

@test "cron --check lists the due times, and refuses the whole file for one mistake" {
    printf \
        '# jobs\nCRON_TZ=UTC\n0 4 1 1 * yearly -- true\nevery 5m "two words" --retry 3 -- true\n' \
        >tab
    run -0 "$ROWLOCK" cron --check tab
    [ "${#lines[@]}" = 3 ]
    [[ ${lines[1]} =~ ^yearly\ +20..-01-01\ ..:00:00\ +cron\ 0\ 4\ 1\ 1\ \*\ UTC$ ]]
    [[ ${lines[2]} =~ ^two\ words\ +.*\ every\ 5m$ ]]
    run "$ROWLOCK" --json cron tab --check
    [ "$(json '$[1].name' <<<"$output")/$(json '$[1].schedule' <<<"$output")" \
        = "two words/every 5m" ]
    : >empty
    run -0 "$ROWLOCK" cron --check empty
    [ "$output" = "0 jobs" ]
    printf '@hourly again\\n -- true\n  0 24 * * * late -- true\n' >>tab
    run -64 "$ROWLOCK" cron --check tab
    [ "$output" \
        = "rowlock: tab:6:5: hour: \"24\" is invalid: allowed are 0 to 23, *, and , - /" ] ||
        [[ $output == "rowlock: tab:6:5: hour: \"24\" is invalid"* ]]
}

@test "a file that other users may change is refused: they could run commands" {
    echo '@daily a -- true' >tab
    chmod 666 tab
    run -64 "$ROWLOCK" cron --check tab
    [[ $output == *"chmod go-w 'tab'"* ]]
}
