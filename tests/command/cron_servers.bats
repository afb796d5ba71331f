#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# cron while its server is away; and how few questions it sends.
# Runs on: postgresql/native mariadb/row
# Quick: never

load lib
load run.bash
load job.bash
load cron.bash
load own_server.bash

@test "the server restarts: runs live on, their end is recorded, and the daemon continues" {
    cron_of <<'TAB'
every 1s often -- echo often >>ran
every 50w long --ttl 60s -- touch long; until [ -e let-go ]; do sleep 0.02; done
every 50w ends --ttl 60s -- touch ends; until [ -e away ]; do sleep 0.02; done
TAB
    until_true has_run often 2
    until_true is_there long
    until_true is_there ends
    stop_server "$own"
    touch away # one ends while the server is away
    until_true said "the database does not answer, trying again"
    until_true said "could not record the result of 'job:ends', trying again"
    start_own
    until_true said "the database is available again"
    rm -f ran
    until_true has_run often 2
    is_running_somewhere long
    until_true runs_nowhere ends
    run_is ends 0 outcome=done
    touch let-go
    until_true runs_nowhere long
    run_is long 0 outcome=done
    [ "$(grep -c "does not answer, trying" err)" = 1 ]
    stop_cron
}

@test "a daemon that starts before the server waits for it; TERM ends the wait" {
    echo 'every 50w first -- touch ran' >tab
    stop_server "$own"
    start_cron
    until_true said "the database does not answer"
    stop_cron
    start_cron
    start_own
    until_true is_there ran
    stop_cron
}

@test "an error that waiting cannot cure ends it at once: no schema" {
    echo 'every 50w first -- touch ran' >tab
    sql 'CREATE DATABASE test_empty'
    run -69 "$ROWLOCK" --db "${ROWLOCK_TEST_URL/test_own/test_empty}" cron tab
    [[ $output == *"schema install"* ]]
    [ ! -e ran ]
}

set_version() { sql "UPDATE ${ours}meta SET version = $1"; }

@test "a schema that becomes too new is reported as that, and no job starts until it is not" {
    cron_of <<<'every 1s often -- echo often >>ran'
    until_true has_run often 1
    current=$(sql "SELECT version FROM ${ours}meta")
    set_version 99
    until_true said "the database cannot be used, trying again: the schema is version 99, newer"
    said "newer than this library's $current, which works with .*; update rowlock on this node"
    ! said "does not answer" || { cat err && false; }
    set_version "$current"
    until_true said "the database is available again"
    rm -f ran
    until_true has_run often 1
    [ "$(grep -c "cannot be used" err)" = 1 ]
    stop_cron
}

@test "the daemon's session keeps no session lock of the leases that it has passed to runs" {
    # MariaDB does not show the locks of sessions
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    cron_of --grace 0 <<<'every 1s often -- echo often >>ran'
    until_true has_run often 3
    stop_asking() { echo 'every 50w often -- true' >tab; kill -s HUP "$daemon"; }
    stop_asking
    until_true said "reread '"
    no_marks() {
        [ "$(sql "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
                      AND mode = 'ExclusiveLock'
                      AND database = (SELECT oid FROM pg_database
                      WHERE datname = 'test_own')")" = 0 ]
    }
    until_true no_marks
    stop_cron
}

statements() {
    case $ROWLOCK_TEST_ENGINE in
    mariadb) sql "SELECT variable_value FROM information_schema.global_status
                  WHERE variable_name = 'QUESTIONS'" ;;
    postgresql) grep -cE '^[^[]*\[[0-9]+\] .*LOG:  (statement|execute)' "$own_log" ;;
    esac
}
asked_in() { # SECONDS OWN: questions of the daemon; OWN is the number of our own
    local before after
    before=$(statements)
    sleep "$1"
    after=$(statements)
    echo $((after - before - $2))
}
@test "100 jobs and nothing due: the daemon asks once for each, and then nothing for minutes" {
    for i in {1..100}; do echo "0 0 1 1 * job$i -- false"; done >tab
    if [ "$ROWLOCK_TEST_ENGINE" = postgresql ]; then
        sql "ALTER ROLE tester SET log_statement = 'all'"
    fi
    own_question=$(asked_in 0 0)
    start_cron
    until [ "$(sql "SELECT count(*) FROM ${ours}job")" = 100 ]; do sleep 0.1; done
    # until the last questions are answered
    until [ "$(asked_in 1 "$own_question")" = 0 ]; do :; done
    [ "$(asked_in 15 "$own_question")" -le 1 ]
    stop_cron
    [ "$ROWLOCK_TEST_ENGINE" != postgresql ] || sql "ALTER ROLE tester RESET log_statement"
}

@test "a job that the database refuses does not delay the others" {
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        sql "CREATE FUNCTION public.refuse() RETURNS trigger
             LANGUAGE plpgsql AS 'BEGIN RAISE ''not this one''; END'"
        sql "CREATE TRIGGER refuse BEFORE UPDATE
             ON rowlock.job FOR EACH ROW WHEN (NEW.name = 'bad')
             EXECUTE FUNCTION public.refuse()"
        ;;
    mariadb)
        sql "CREATE TRIGGER refuse BEFORE UPDATE ON rowlock_job FOR EACH ROW
             SET NEW.due = IF(NEW.name = 'bad', NULL, NEW.due)"
        ;;
    esac
    cron_of <<'TAB'
every 1s bad -- echo bad >>ran
every 1s good -- echo good >>ran
TAB
    until_true has_run good 3
    until_true said "bad: "
    run ! said "trying again"
    run ! has_run bad 1
    stop_cron
    case $ROWLOCK_TEST_ENGINE in
    postgresql) sql "DROP FUNCTION public.refuse() CASCADE" ;;
    mariadb) sql "DROP TRIGGER refuse" ;;
    esac
}

# ---- few sessions are available ---------------------------------------------------------------

few_sessions() { # N: for rowlock's account; the administrator's do not count
    case $ROWLOCK_TEST_ENGINE in
    postgresql) sql "ALTER ROLE tester CONNECTION LIMIT $1" ;;
    mariadb) sql "ALTER USER rowlock@'%' WITH MAX_USER_CONNECTIONS $((${1/-1/0}));
                  ALTER USER rowlock@localhost WITH MAX_USER_CONNECTIONS $((${1/-1/0}))" ;;
    esac
}
tokens_of() { # OUTCOME: the runs recorded with it, one per line
    sql "SELECT token FROM ${ours}run WHERE outcome = '$1'" | sort
}
jobs_done() { sql "SELECT count(DISTINCT job) FROM ${ours}run WHERE outcome = 'done'"; }
# Every run that is recorded as done was executed.
is_honest() {
    tokens_of done >recorded # read first: commands executed afterwards are in the file too
    sort ran | comm -23 recorded - >untrue
    [ ! -s untrue ] || { sql "SELECT * FROM ${ours}run"; return 1; }
}
until_done() { # N: of the jobs are done, within minutes
    local tries=0
    until [ "$(jobs_done)" = "$1" ]; do
        is_honest
        tries=$((tries + 1))
        [ $tries -lt 1500 ]
        sleep 0.1
    done
}

@test "p5: a run whose session comes late still runs, and every run recorded as done was executed" {
    cat >tab <<'TAB'
every 50w a --ttl 5s --retry 99 -- sleep 4; echo $ROWLOCK_TOKEN >>ran
every 50w b --ttl 5s --retry 99 --backoff 1s -- echo $ROWLOCK_TOKEN >>ran; touch X
TAB
    touch ran
    few_sessions 1
    start_cron
    until_done 2
    few_sessions -1
    [ -e X ]
    stop_cron
    is_honest
}

@test "p5: more jobs than sessions: every run recorded as done was executed; all get done" {
    for i in {1..12}; do
        echo "every 50w job$i --ttl 5s --retry 99 --backoff 1s --" \
            "sleep 0.5; echo \$ROWLOCK_TOKEN >>ran"
    done >tab
    touch ran
    few_sessions 4
    start_cron
    until_done 12
    few_sessions -1
    stop_cron
    is_honest
}
