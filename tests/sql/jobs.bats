#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# claim, finish: a job by SQL alone is the same job as that of the command. docs/sql-jobs.md. The
# words of each server come first; MariaDB's server is one of its own, without time zones at first.
# Runs on: postgresql/native mariadb/row

# shellcheck disable=SC2154
if [ "$ROWLOCK_TEST_ENGINE" = postgresql ]; then
    load lib
    # call JOB SCHEDULE [KEY=VALUE]...: the statement of a claim; its times are milliseconds
    call() {
        local each all=", owner => gen_random_uuid()::text"
        for each in "${@:3}"; do
            case $each in
            owner=*) all=", owner => '${each#*=}'" ;;
            ttl=* | backoff=* | at_least=*) all+=", ${each%%=*} => '${each#*=} ms'" ;;
            retry=*) all+=", retry => ${each#*=}" ;;
            *) all+=", ${each%%=*} => '${each#*=}'" ;;
            esac
        done
        echo "SELECT token, due, repeats, state, pause, lost, former_schedule
                FROM rowlock.claim('$1', '$2'$all)"
    }
    row() { psql -qXAt -F $'\t' -P null=NULL "$ROWLOCK_TEST_URL" -c "$(call "$@")"; }
    finish() { # TOKEN [OUTCOME [OUTPUT [EXIT]]]: 1, or 0 if the lease was lost
        db "SELECT rowlock.finish($1, '${2:-done}', $(text "${3:-}"), ${4:-NULL})::int"
    }
    exit=exit hour=3600000
    make_due() {
        sql "UPDATE rowlock.job SET version = version + 1,
             due = floor(extract(epoch FROM clock_timestamp())::numeric * 1000)::bigint - 1"
    }
    expire() { sql "UPDATE rowlock.lease SET expires = now() - interval '1 s' WHERE token = $1"; }
    forget_leases() { sql "DELETE FROM rowlock.lease"; }
    bytes=octet_length true=t
else
    load mariadb
    # shellcheck source=tests/command/own_server.bash
    . "$BATS_TEST_DIRNAME/../command/own_server.bash"
    database=test_own
    call() {
        local each owner='UUID()' ttl=NULL zone=NULL retry=NULL backoff=NULL missed=NULL \
            at_least=NULL
        for each in "${@:3}"; do
            case $each in
            owner=* | zone=* | missed=*) printf -v "${each%%=*}" '%s' "'${each#*=}'" ;;
            *) printf -v "${each%%=*}" '%s' "${each#*=}" ;;
            esac
        done
        echo "CALL rowlock_claim_row('$1', '$2', $owner, $ttl, $zone, $retry, $backoff, $missed,
              $at_least, NULL, NULL, NULL, NULL, NULL)"
    }
    row() { say "$(call "$@")"; }
    finish() {
        say "CALL rowlock_finish($1, '${2:-done}', $(text "${3:-}"), ${4:-NULL}, @released);
             SELECT @released"
    }
    exit='`exit`' hour=3600000
    make_due() { sql "UPDATE rowlock_job SET due = 1, version = version + 1"; }
    expire() { sql "UPDATE rowlock_name SET expires = '2001-01-01' WHERE token = $1"; }
    forget_leases() {
        sql "DELETE FROM rowlock_lease; DELETE FROM rowlock_heartbeat;
             UPDATE rowlock_name SET held = 0"
    }
    bytes=LENGTH true=1
fi
text() { if [ -n "$1" ]; then echo "'$1'"; else echo NULL; fi; }
setup_file() {
    [ "$ROWLOCK_TEST_ENGINE" != mariadb ] || use_own
    rowlock schema install
}
teardown_file() { [ "$ROWLOCK_TEST_ENGINE" != mariadb ] || stop_server "$own"; }
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    forget_leases
    sql "DELETE FROM ${ours}job"
    sql "DELETE FROM ${ours}run"
}
teardown() { close_sessions; }

columns() { # COLUMN... of a row on standard input, those that are not NULL
    local token due repeats state pause lost former column all=''
    IFS=$'\t' read -r token due repeats state pause lost former
    for column; do [ "${!column}" = NULL ] || all+=" ${!column}"; done
    echo "${all# }"
}
# The arguments are those of call.
claim() { row "$@" | columns state token repeats; }
claimed() { # must claim a run: its token
    local state token
    read -r state token _ <<<"$(claim "$@")"
    [ "$state" = claimed ] && echo "$token"
}
outcome() { sql "SELECT concat(outcome, ' ', $exit) FROM ${ours}run WHERE token = $1"; }

@test "one client claims a run, and has it until it finishes" {
    token=$(claimed mail 'every 50w')
    [ "$(claim mail 'every 50w')" = running ]
    [ "$(item job:mail '$[0].token')" = "$token" ]
    run -75 rowlock run -n job:mail -- true
    [ "$(rowlock --json jobs mail | jq -r '.[0].history[0].token')" = "$token" ]
    finish "$token" 'done' '37 mails'
    [ "$(outcome "$token")" = 'done 0' ]
    [ "$(claim mail 'every 50w')" = waiting ]
    rowlock jobs mail | grep '37 mails'
    is_free job:mail
}

@test "the same owner gets its run again, as after a lost reply" {
    token=$(claimed mail 'every 50w' 'owner=an owner of a reply')
    [ "$(claim mail 'every 50w' 'owner=an owner of a reply')" = "claimed $token 0" ]
    [ "$(sql "SELECT count(*) FROM ${ours}run")" = 1 ]
}

@test "rowlock job and SQL share the due times and the history of a job" {
    rowlock job mail --every 50w -- true
    [ "$(claim mail 'every 50w')" = waiting ]
    rowlock jobs --now mail
    token=$(claimed mail 'every 50w')
    run -75 rowlock job mail --every 50w -E 75 -- touch started
    [ ! -e started ]
    finish "$token" failed 'no connection'
    [ "$(rowlock --json jobs mail | jq -r '[.[0].history[].outcome] | join(" ")')" = 'failed done' ]
}

@test "a run is recorded as lost and repeated when its client died" {
    token=$(claimed mail 'every 50w')
    expire "$token"
    row mail 'every 50w' >second
    [ "$(columns state repeats lost <second)" = "claimed 1 $token" ]
    [ "$(outcome "$token")" = 'lost 0' ]
    [ "$(finish "$token")" = 0 ]
    [ "$(outcome "$token")" = 'late 0' ]
    second=$(columns token <second)
    [ "$(finish "$second")" = 1 ]
    [ "$(outcome "$second")" = 'done 0' ]
}

@test "a failed run is repeated as often as retry says, after the pause" {
    terms=(mail 'every 50w' retry=1 backoff=0)
    token=$(claimed "${terms[@]}")
    finish "$token" failed first
    read -r state token repeats <<<"$(claim "${terms[@]}")"
    [ "$state/$repeats" = claimed/1 ]
    finish "$token" failed second 3
    [ "$(outcome "$token")" = 'failed 3' ]
    [ "$(claim "${terms[@]}")" = waiting ]
}

@test "one run replaces missed due times, or none does" {
    [ "$(claim report '0 3 * * *')" = waiting ]
    for missed in skip once; do
        sql "UPDATE ${ours}job SET version = version + 1, last = due - 3 * 86400000,
                                   due = due - 2 * 86400000"
        claim report '0 3 * * *' "missed=$missed" >"$missed"
    done
    [ "$(cat skip)" = waiting ]
    grep '^claimed' once
}

@test "hold keeps a job from running; at_least keeps its name" {
    token=$(claimed mail 'every 1s' "at_least=$hour")
    finish "$token"
    [ "$(claim mail 'every 1s' "at_least=$hour")" = running ]
    forget_leases
    rowlock hold job:mail --for 1h --note 'new disks'
    make_due
    [ "$(claim mail 'every 1s')" = running ]
}

@test "another node's schedule is named, once" {
    finish "$(claimed mail 'every 50w')"
    [ "$(row mail '0 3 * * *' | columns former)" = 'every 50w' ]
    [ "$(row mail '0 3 * * *' | columns state former)" = waiting ]
}

@test "wrong arguments are refused; the error has the allowed values" {
    refused() { # TEXT, arguments of call
        local text=$1
        shift
        run row "$@"
        [[ $output =~ ERROR.*$text ]] || { echo "$*: not $text"; return 1; }
    }
    refused 'allowed are 0 to 59' x '60 * * * *'
    refused 'not a period' x 'every day'
    refused 'not a schedule' x '* * * *'
    refused 'never comes' x '0 0 30 2 *'
    refused 'Europe/Paris|not a name of one' x @daily zone=europe/paris
    refused Atlantis x @daily zone=Atlantis
    refused 'not a time zone|not a name of one' x @daily zone=5
    refused '16 to 64 bytes' x @daily owner=me
    refused 'once or skip' x @daily missed=never
    refused 'retry(:| is at least) 0' x @daily retry=-1
    refused '366 days' x @daily backoff=-1
    refused 'ttl(_ms)? must be' x @daily ttl=1
    refused '255 bytes' "$(printf '%252s' | tr ' ' x)" @daily
    for outcome in well Done; do
        [[ $(finish 1 $outcome) == *'outcome is done'* ]]
    done
    [ "$(finish 1)" = 0 ]
    [ "$(sql "SELECT count(*) FROM ${ours}job")" = 0 ]
}

@test "the output keeps its last 2048 bytes, in whole characters" {
    token=$(claimed mail 'every 50w')
    finish "$token" 'done' "$(printf 'é%.0s' {1..3000})end"
    [ "$(sql "SELECT $bytes(output) BETWEEN 2040 AND 2048 AND output LIKE '%éend'
                FROM ${ours}run")" = "$true" ]
}

# The server looks for a deadlock sooner than a claim stops waiting for a name.
@test "a claim that has planned the job does not wait for the name, whose holder waits for it" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    finish "$(claimed mail 'every 50w')"
    due=$(db "UPDATE rowlock.job SET version = version + 1,
                     last = extract(epoch FROM clock_timestamp()) * 1000 + 5000
              RETURNING rowlock.due('every 1s', last, 1)")
    for session in job name claim; do open_session $session; done
    in_session job BEGIN "SELECT FROM rowlock.job FOR UPDATE"
    in_session name BEGIN "SELECT rowlock.exclusive('job:mail')"
    ask claim "SELECT state FROM rowlock.claim('mail', 'every 1s', gen_random_uuid()::text)"
    until_true waiting 1
    ask name "UPDATE rowlock.job SET version = version"
    until_true waiting 2
    until_true is_past "$due"
    in_session job ROLLBACK
    until_true said claim '^running$'
    in_session name COMMIT
    run ! grep ERROR claim name
}
waiting() { # N: so many sessions wait for a row
    [ "$(sql "SELECT count(*) FROM pg_stat_activity
               WHERE datname = current_database() AND wait_event_type = 'Lock'")" = "$1" ]
}
is_past() { [ "$(db "SELECT $1 < extract(epoch FROM clock_timestamp()) * 1000")" = t ]; }

@test "the program of the page runs a job once" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    sql "CREATE TABLE bond (handled integer); INSERT INTO bond VALUES (0);
         GRANT ALL ON bond TO PUBLIC"
    # otherwise it may become due between the two
    sed 's/every 5m/every 50w/' "$BATS_TEST_DIRNAME/../../examples/sql/job.sql" >job.sql
    for _ in 1 2; do
        psql -qXAt -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_URL" -f job.sql
    done
    [ "$(sql "SELECT handled FROM bond")" = 1 ]
    sql "DROP TABLE bond"
    rowlock jobs prices | grep 'prices are refreshed'
}

@test "rowlock_claim sets variables, keeps the isolation level, refuses a transaction" {
    [ "$ROWLOCK_TEST_ENGINE" = mariadb ] || return 0
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
*RL007* 1 | START TRANSACTION; $(call mail 'every 50w' | tr -d '\n'); SELECT @@in_transaction
*RL007* | START TRANSACTION; CALL rowlock_finish(1, 'done', NULL, NULL, @released)
*RL003*outcome is done* | CALL rowlock_finish(1, NULL, NULL, NULL, @released)
*RL003*255 bytes* | $(call x "$(printf '%256s' | tr ' ' 1) * * * *" | tr -d '\n')
TEXT
}

@test "without time zones the error says how to load them; offsets and SYSTEM need none" {
    [ "$ROWLOCK_TEST_ENGINE" = mariadb ] || return 0
    [[ $(row mail '0 4 * * *' zone=Europe/Paris) == *RL003*zoneinfo* ]]
    rowlock job plain --cron '0 4 * * *' --tz Europe/Paris -- true
    [ "$(sql "SELECT schedule FROM rowlock_job")" = 'cron 0 4 * * * Europe/Paris' ]
    for zone in +05:30 -03:00 SYSTEM UTC; do
        [ "$(claim "$zone" '0 4 * * *' "zone=$zone")" = waiting ]
    done
    [ "$(sql "SELECT (due DIV 60000) % 1440 FROM rowlock_job
               WHERE name IN ('+05:30', '-03:00') ORDER BY name")" = $'1350\n420' ]
    load_zones "$ROWLOCK_TEST_MARIADB_SOCKET/socket" Europe/London Europe/Paris
    [ "$(claim mail '0 4 * * *' zone=Europe/Paris)" = waiting ]
    [[ $(row x @daily zone=EUROPE/Paris) == *RL003*'capitals matter, as in Europe/Paris'* ]]
    [[ $(row x @daily zone=Europe/Atlantis) == *RL003*'is unknown to this server'* ]]
}
