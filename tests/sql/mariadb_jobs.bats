#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# rowlock_claim, rowlock_finish: a job by SQL alone is the same job as that of the command.
# docs/sql-jobs.md. The server of this test has no time zones at first.
# Runs on: mariadb/row

# shellcheck disable=SC2154
load mariadb
# shellcheck source=tests/command/own_server.bash
. "$BATS_TEST_DIRNAME/../command/own_server.bash"
database=test_own
setup_file() {
    use_own
    rowlock schema install
}
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    sql "DELETE FROM rowlock_lease; DELETE FROM rowlock_heartbeat; DELETE FROM rowlock_job;
         UPDATE rowlock_name SET held = 0;
         DELETE FROM rowlock_run"
}

# call JOB SCHEDULE [OWNER TTL ZONE RETRY BACKOFF MISSED AT_LEAST HISTORY]: the statement of a
# claim; the last are SQL, NULL if not given
call() {
    local i all="'$1', '$2', ${3:-UUID()}"
    for i in 4 5 6 7 8 9 10; do all+=", ${!i:-NULL}"; done
    echo "CALL rowlock_claim_row($all, NULL, NULL, NULL, NULL)"
}
answer() { # COLUMN... of the answer of a call on standard input
    local token due repeats state pause lost former column
    while IFS=$'\t' read -r token due repeats state pause lost former; do
        for column; do printf '%s ' "${!column}"; done
    done | sed 's/ $//'
}
# The arguments are those of call.
claim() { say "$(call "$@")" | answer state token repeats; }
claimed() { # must claim a run: its token
    local state token repeats
    read -r state token repeats <<<"$(claim "$@")"
    [ "$state" = claimed ] && echo "$token"
}
is() { [ "$(claim "${@:2}")" = "$1 NULL NULL" ]; } # STATE, arguments of call
finish() { # TOKEN [OUTCOME OUTPUT EXIT]: 1, or 0 if the lease was lost
    say "CALL rowlock_finish($1, ${2:-'done'}, ${3:-NULL}, ${4:-NULL}, @released); SELECT @released"
}
outcome() { sql "SELECT outcome, \`exit\` FROM rowlock_run WHERE token = $1" | tr '\t' ' '; }
expire() { sql "UPDATE rowlock_name SET expires = '2001-01-01' WHERE token = $1"; }

@test "one client claims a run; rowlock_finish ends it" {
    token=$(claimed mail 'every 50w')
    is running mail 'every 50w'
    [ "$(item job:mail '$[0].token')" = "$token" ]
    run -75 rowlock run -n job:mail -- true
    [ "$(rowlock --json jobs mail | jq -r '.[0].history[0].token')" = "$token" ]
    finish "$token" "'done'" "'37 mails'"
    [ "$(outcome "$token")" = 'done 0' ]
    is waiting mail 'every 50w'
    rowlock jobs mail | grep '37 mails'
    is_free job:mail
}

@test "the same owner gets its run again, as after a lost reply" {
    token=$(claimed mail 'every 50w' "'an owner of a reply'")
    [ "$(claim mail 'every 50w' "'an owner of a reply'")" = "claimed $token 0" ]
    [ "$(sql "SELECT count(*) FROM rowlock_run")" = 1 ]
}

@test "rowlock job and SQL share the due times and the history of a job" {
    rowlock job mail --every 50w -- true
    is waiting mail 'every 50w'
    rowlock jobs --now mail
    token=$(claimed mail 'every 50w')
    run -75 rowlock job mail --every 50w -E 75 -- true
    finish "$token" "'failed'" "'no connection'"
    [ "$(rowlock --json jobs mail | jq -r '[.[0].history[].outcome] | join(" ")')" = \
        'failed done' ]
}

@test "a run is recorded as lost and repeated when its client died" {
    token=$(claimed mail 'every 50w')
    expire "$token"
    [ "$(say "$(call mail 'every 50w')" | tee second | answer state repeats lost)" = \
        "claimed 1 $token" ]
    [ "$(outcome "$token")" = 'lost 0' ]
    [ "$(finish "$token")" = 0 ]
    [ "$(outcome "$token")" = 'late 0' ]
    second=$(cut -f1 second)
    [ "$(finish "$second")" = 1 ]
    [ "$(outcome "$second")" = 'done 0' ]
}

@test "a failed run is repeated as often as retry says, after the pause" {
    terms=(mail 'every 50w' 'UUID()' NULL NULL 1 0)
    token=$(claimed "${terms[@]}")
    finish "$token" "'failed'" "'first'"
    read -r state token repeats <<<"$(claim "${terms[@]}")"
    [ "$state/$repeats" = claimed/1 ]
    finish "$token" "'failed'" "'second'" 3
    [ "$(outcome "$token")" = 'failed 3' ]
    is waiting "${terms[@]}"
}

@test "a missed due time is run once, or skipped" {
    is waiting report '0 3 * * *'
    for missed in skip once; do
        sql "UPDATE rowlock_job SET version = version + 1, last = due - 3 * 86400000,
                                    due = due - 2 * 86400000"
        claim report '0 3 * * *' 'UUID()' NULL NULL NULL NULL "'$missed'" >"$missed"
    done
    [ "$(cat skip)" = 'waiting NULL NULL' ]
    grep '^claimed' once
}

@test "hold keeps a job from running; at_least_ms keeps its name" {
    terms=(mail 'every 1s' 'UUID()' NULL NULL NULL NULL NULL 3600000)
    token=$(claimed "${terms[@]}")
    finish "$token"
    is running "${terms[@]}"
    sql "UPDATE rowlock_name SET held = 0"
    rowlock hold job:mail --for 1h --note disks
    sql "UPDATE rowlock_job SET due = 1, version = version + 1"
    is running mail 'every 1s'
}

@test "another node's schedule is named" {
    claim mail 'every 50w' >first
    finish "$(cut -d' ' -f2 first)"
    [ "$(say "$(call mail '0 3 * * *')" | answer former)" = 'every 50w' ]
    [ "$(say "$(call mail '0 3 * * *')" | answer state former)" = 'waiting NULL' ]
}

@test "rowlock_claim sets variables, keeps the isolation level, refuses a transaction" {
    run say "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;
             CALL rowlock_claim('mail', 'every 50w', UUID(), NULL, NULL, NULL, NULL, NULL, NULL,
                 NULL, 'a host', 4711, 'a program', 'a note', @token, @due, @repeats, @state,
                 @pause, @lost, @former);
             SELECT @token > 0, @due <= UNIX_TIMESTAMP() * 1000, @repeats, @state, @pause, @lost,
                    @former, @@tx_isolation, @@in_transaction;
             SELECT node, pid FROM rowlock_run; SELECT note FROM rowlock_holders"
    [ "${lines[0]}" = $'1\t1\t0\tclaimed\t0\tNULL\tNULL\tREPEATABLE-READ\t0' ]
    [ "${lines[1]}/${lines[2]}" = $'a host\t4711/a note' ]
    each_says <<TEXT
*RL007* 1 | START TRANSACTION; $(call mail 'every 50w'); SELECT @@in_transaction
*RL007* | START TRANSACTION; CALL rowlock_finish(1, 'done', NULL, NULL, @released)
TEXT
}

@test "wrong arguments are refused; the error has the allowed values" {
    each_says <<TEXT
*RL003*allowed are 0 to 59* | $(call x '60 * * * *')
*RL003*not a period* | $(call x 'every day')
*RL003*not a schedule* | $(call x '* * * *')
*RL003*never comes* | $(call x '0 0 30 2 *')
*RL003*Atlantis* | $(call x @daily 'UUID()' NULL "'Atlantis'")
*RL003*not a name of one* | $(call x @daily 'UUID()' NULL "'europe/paris'")
*RL003*not a name of one* | $(call x @daily 'UUID()' NULL "'5'")
*RL003*16 to 64 bytes* | $(call x @daily "'me'")
*RL003*16 to 64 bytes* | $(call x @daily NULL)
*RL003*once or skip* | $(call x @daily 'UUID()' NULL NULL NULL NULL "'never'")
*RL003*retry: 0 or more* | $(call x @daily 'UUID()' NULL NULL -1)
*RL003*366 days* | $(call x @daily 'UUID()' NULL NULL NULL -1)
*RL003*ttl_ms must be* | $(call x @daily 'UUID()' 1)
*RL003*255 bytes* | $(call "$(printf '%252s' | tr ' ' x)" @daily)
*RL003*255 bytes* | $(call x "$(printf '%256s' | tr ' ' 1) * * * *")
*RL003*outcome is done* | CALL rowlock_finish(1, 'well', NULL, NULL, @released)
*RL003*outcome is done* | CALL rowlock_finish(1, NULL, NULL, NULL, @released)
*RL003*outcome is done* | CALL rowlock_finish(1, 'Done', NULL, NULL, @released)
0 | CALL rowlock_finish(1, 'done', NULL, NULL, @released); SELECT @released
TEXT
    [ "$(sql "SELECT count(*) FROM rowlock_job")" = 0 ]
}

@test "the output keeps its last 2048 bytes, in whole characters" {
    token=$(claimed mail 'every 50w')
    finish "$token" "'done'" "CONCAT(REPEAT('é', 3000), 'end')"
    [ "$(sql "SELECT LENGTH(output) BETWEEN 2040 AND 2048 AND output LIKE '%éend'
                FROM rowlock_run")" = 1 ]
}

@test "without time zones the error says how to load them; offsets and SYSTEM need none" {
    paris=(mail '0 4 * * *' 'UUID()' NULL "'Europe/Paris'")
    [[ $(say "$(call "${paris[@]}")") == *RL003*zoneinfo* ]]
    rowlock job plain --cron '0 4 * * *' --tz Europe/Paris -- true
    [ "$(sql "SELECT schedule FROM rowlock_job")" = 'cron 0 4 * * * Europe/Paris' ]
    for zone in +05:30 -03:00 SYSTEM UTC; do
        is waiting "$zone" '0 4 * * *' 'UUID()' NULL "'$zone'"
    done
    [ "$(sql "SELECT (due DIV 60000) % 1440 FROM rowlock_job
               WHERE name IN ('+05:30', '-03:00') ORDER BY name")" = $'1350\n420' ]
    load_zones "$ROWLOCK_TEST_MARIADB_SOCKET/socket" Europe/London Europe/Paris
    is waiting "${paris[@]}"
    each_says <<TEXT
*RL003*capitals matter, as in Europe/Paris* | $(call x @daily 'UUID()' NULL "'EUROPE/Paris'")
*RL003*is unknown to this server* | $(call x @daily 'UUID()' NULL "'Europe/Atlantis'")
TEXT
}
