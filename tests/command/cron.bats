#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# cron: the jobs that the daemon starts, signals, a changed crontab, and two daemons at once.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: sqlite/native
# Rest: sqlite/native, because cron_servers tests what a server may do to the daemon

load lib
load run.bash
load job.bash
load cron.bash

lives_on() { # NAME: a command that writes NAME.pid and keeps running
    echo "echo \$\$ >$1.tmp; mv $1.tmp $1.pid; exec sleep 970"
}

logged() { rowlock --json log "$1" | grep -q '"how":"expired"'; }

@test "the log shows a lease that expired over a minute ago, without vacuum; a younger one stays" {
    ! is_mysql || skip "on MySQL an expired lease waits for the next caller, or for vacuum"
    local name leases=${ours}lease
    [ "$ROWLOCK_TEST_ENGINE" != mariadb ] || leases=rowlock_held
    for name in crashed young; do rowlock acquire --ttl 1h --note n $name; done
    expired_for() { # NAME SECONDS
        local of="WHERE token = (SELECT token FROM ${ours}lease WHERE name = '$1')"
        case $ROWLOCK_TEST_ENGINE in
        sqlite) sql "UPDATE rowlock_heartbeat SET expires = expires - 3600000 - $2 * 1000 $of" ;;
        postgresql) sql "UPDATE rowlock.lease
                         SET expires = expires - interval '1 hour $2 seconds' $of" ;;
        mariadb) sql "UPDATE rowlock_name SET expires = expires - INTERVAL 3600 + $2 SECOND
                      WHERE name = '$1'" ;;
        esac
    }
    expired_for crashed 90
    expired_for young 5
    cron_of <<<"every 50w idle -- true"
    until_true logged crashed
    [ "$(sql "SELECT count(*) FROM $leases WHERE name = 'young'")" = 1 ]
    if logged young; then return 1; fi
    [ "$(sql "SELECT count(*) FROM $leases WHERE name = 'crashed'")" = 0 ]
    stop_cron
    rowlock break --now young || true
}

@test "runs every due job, in parallel and repeatedly, and reports it" {
    cron_of <<TAB
# jobs
every 1s  often    -- echo often >>ran
every 1s  percent  --note 'a note' -- printf '%s%%\n' percent >>ran # no comment of ours
every 50w '-dash'  -- echo dash >>ran
every 50w stays    -- $(lives_on stays)
TAB
    until_true has_run often 3
    until_true has_run dash 1
    until_true has_run percent% 3
    until_true is_there stays.pid
    said "^rowlock: often: started, token [0-9]*$"
    said "^rowlock: often: done in "
    is_running_somewhere stays
    kill -s KILL "$(cat stays.pid)"
    until_true said "^rowlock: stays: ended by signal 9 after "
    run_is stays 0 exit=137
    stop_cron
}

@test "--prefix: the time and the job's name before each line, which stays whole" {
    cat >tab <<'TAB'
every 50w plain        -- printf 'one\ntwo\n\nerr\n' >&2; printf 'half a '; sleep 0.1; printf line
every 50w 'a	\tab' -- echo tab
TAB
    printf 'every 50w %s -- %s; %s; %s; %s\n' long 'until [ -e go ]; do sleep 0.02; done' \
        'head -c 9000 /dev/zero | tr "\0" x' echo 'echo end' >>tab
    start_cron --prefix
    local time='20[0-9-]* [0-9:]* [+-][0-9]*'
    until_true said "^$time rowlock: plain: done in "
    until_true said 'tab: done in '
    touch go # parts of a long line may mix with other lines
    until_true said "^$time rowlock: long: done in "
    [ "$(sed -n "s/^$time plain: //p" err)" = $'one\ntwo\n\nerr' ]
    [ "$(grep -c "^$time plain: half a line$" out)" = 1 ]
    [ "$(sed -n "s/^$time //p" out | grep -Fc 'a\x09\tab: tab')" = 1 ]
    [ "$(grep -c "^$time long: x*$" out)" = 1 ]
    [ "$(grep " long: " out | grep -o x | wc -l)" = 9000 ]
    [ "$(grep -c "^$time long: end$" out)" = 1 ]
    [[ $(view plain last_output) == *two* && $(view plain last_output) != *plain:* ]]
    stop_cron
    run ! grep -v "^$time " err # the messages of the daemon and of the runs, too
    echo 'every 50w missing -- exec ./missing' >tab
    echo "every 50w broken --max-run 1s -- $(lives_on broken)" >>tab
    start_cron --prefix
    until_true said "^$time rowlock: the command under 'job:broken' exceeded --max-run"
    until_true said "^$time rowlock: missing: ended with status 127 after"
    stop_cron
    run ! grep -v "^$time " err
}

# One of two daemons has claimed the last run; the last answer to the other was that it runs.
@test "the daemon that ran a job last is killed when idle: the other runs it at its next due time" {
    cat >tab <<'TAB'
every 1s  boom  --ttl 10m  -- echo boom >>ran; until [ -e let-go ]; do sleep 0.02; done
every 50w asked -- touch asked
TAB
    sed 's/asked/asked-by-other/g' tab >other-tab
    start_cron
    until_true has_run boom 1
    until_true is_there asked
    start_rowlock cron other-tab
    local other=$started
    until_true is_there asked-by-other # it asks in the order of the file
    kill -s STOP "$daemon"
    touch let-go
    until_true runs_nowhere boom
    kill -s KILL "$daemon"
    until has_run boom 2; do sleep 0.1; done
    kill -s TERM "$other"
    ends_with 0 "$other"
    # by the database's clock; by the lease it would have waited ten minutes, by the daemon's own
    # limit one
    rowlock --json jobs boom >json
    local idle
    idle=$(json_sql \
        "(unixepoch(substr(json_extract(document, '\$[0].history[#-2].started'), 1, 19)) -
        unixepoch(substr(json_extract(document, '\$[0].history[#-1].finished'), 1, 19)))" <json)
    echo "nothing ran for $idle s"
    [ "$idle" -lt 40 ]
}

@test "no run starts before its due time, which its command can read" {
    echo 'every 3s timely --retry 1 --backoff 1ms --' \
        'echo "$ROWLOCK_DUE $ROWLOCK_ATTEMPT" >>ran; exit 1' >tab
    start_cron
    until grep -qs ' 2$' ran && [ "$(wc -l <ran)" -ge 3 ]; do sleep 0.1; done
    stop_cron
    rowlock --json jobs timely >json
    [ "$(json_sql "(SELECT count(*) FROM json_each(document, '\$[0].history')
                    WHERE json_extract(value, '\$.started') < json_extract(value,
                    '\$.due'))" <json)" = 0 ]
    json_sql "(SELECT group_concat(json_extract(value, '\$.due') || ' ' || (json_extract(value,
              '\$.repeat') + 1), char(10))
               FROM json_each(document, '\$[0].history'))" <json | tac | diff - ran
}

@test "a daemon dies with all its runs: another takes its job over after the lease" {
    cron_of <<<"every 50w taken --ttl 8s -- $(lives_on taken)"
    until_true is_there taken.pid
    command=$(cat taken.pid) guard=$(parent_of "$(cat taken.pid)")
    rm taken.pid
    run=$(parent_of "$guard") first=$daemon
    start_cron
    kill -s KILL "$first" "$run" "$guard" "$command"
    until_true is_there taken.pid
    said "^rowlock: taken: the previous run (token [0-9]*) was lost$"
    said "^rowlock: taken: started, retry 1, token"
    run_is taken 1 outcome=lost
    kill -s TERM "$daemon"
    stop_cron
}

@test "the daemon alone is killed: its run lives on, ends, and is recorded" {
    echo "every 50w orphan --" \
        "echo \$\$ >orphan.pid; until [ -e let-go ]; do sleep 0.02; done; echo hi" >tab
    start_cron
    until_true has_text orphan.pid
    kill -s KILL "$daemon"
    until_true is_gone "$daemon"
    is_running_somewhere orphan
    touch let-go
    until_true runs_nowhere orphan
    run_is orphan 0 outcome=done
    [ "$(view orphan 'history[0].output')" = hi ]
}

@test "a frozen run does not delay the others" {
    cron_of <<TAB
every 50w stuck -- $(lives_on stuck)
every 1s  often -- echo often >>ran
TAB
    until_true is_there stuck.pid
    guard=$(parent_of "$(cat stuck.pid)")
    stuck=$(parent_of "$guard")
    kill -s STOP "$stuck" "$guard" "$(cat stuck.pid)"
    rm -f ran
    until_true has_run often 3
    kill -s KILL "$stuck" "$guard" "$(cat stuck.pid)"
    until_true said "^rowlock: stuck: ended by signal 9"
    stop_cron
}

@test "TERM: the daemon claims nothing more, and waits for its runs" {
    cron_of --grace 1h <<TAB
every 50w slow  -- echo \$\$ >slow.pid; until [ -e let-go ]; do sleep 0.02; done
every 1s  often -- echo often >>ran
TAB
    until_true is_there slow.pid
    until_true has_run often 1
    kill -s TERM "$daemon"
    until_true said "claims nothing more"
    until_true runs_nowhere often
    runs=$(runs_of often)
    for _ in 1 2 3; do # every due time is left to other nodes
        until job -E 3 often --every 1s -- true; do sleep 0.1; done
    done
    [ "$(runs_of often)" = $((runs + 3)) ]
    is_running_somewhere slow
    touch let-go
    ends_with 0 "$daemon"
    run_is slow 0 outcome=done
}

@test "TERM: after the grace the remaining runs are ended, also if they ignore TERM, and recorded" {
    cron_of --grace 100ms <<TAB
every 50w polite -- $(lives_on polite)
every 50w stubborn --kill-after 200ms -- exec perl -e '\$SIG{TERM} = "IGNORE"; \
open F, ">stubborn.pid"; print F \$\$; close F; sleep 970'
TAB
    until_true is_there polite.pid
    until_true test -s stubborn.pid
    stop_cron
    is_gone "$(cat polite.pid)"
    is_gone "$(cat stubborn.pid)"
    run_is polite 0 outcome=failed exit=143
    run_is stubborn 0 exit=137
    is_free job:polite
    is_free job:stubborn
    said "^rowlock: polite: sent TERM$"
}

@test "TERM: a command that exits with 0 because it was ended is not recorded as done" {
    cron_of --grace 100ms <<TAB
every 50w polite -- exec perl -e '\$SIG{TERM} = sub { exit 0 }; \
open F, ">polite.pid"; print F \$\$; close F; sleep 1 while 1'
TAB
    until_true test -s polite.pid
    stop_cron
    is_gone "$(cat polite.pid)"
    run_is polite 0 outcome=failed exit=143
    run ! said "polite: done"
}

@test "a second signal ends the grace" {
    cron_of --grace 1h <<<"every 50w slow -- $(lives_on slow)"
    until_true is_there slow.pid
    kill -s INT "$daemon"
    until_true said "claims nothing more"
    kill -s INT "$daemon"
    ends_with 0 "$daemon"
    run_is slow 0 exit=143
}

@test "HUP: the file is read again; a wrong one is refused, and the old one stays in force" {
    cron_of <<<'every 1s before -- echo before >>ran'
    until_true has_run before 1
    printf 'every 1s after -- echo after >>ran\nevery x wrong -- false\n' >tab
    kill -s HUP "$daemon"
    until_true said "tab:2:7: "
    said "keeping the jobs read from 'tab' before: 1 job$"
    rm ran
    until_true has_run before 1
    [ "$(view after name)" = "" ]
    echo 'every 1s after -- echo after >>ran' >tab
    kill -s HUP "$daemon"
    until_true said "reread 'tab': 1 job$"
    until_true has_run after 1
    until_true runs_nowhere before
    runs=$(runs_of before)
    rm ran
    until_true has_run after 2
    [ "$(runs_of before)" = "$runs" ]
    stop_cron
}

@test "jobs --now: the daemon runs the job, once" {
    cron_of <<<"every 50w soon -- echo soon >>ran"
    until_true has_run soon 1
    until_true said "^rowlock: soon: done in "
    rowlock jobs soon --now
    kill -s HUP "$daemon" # else it asks within a minute
    until_true has_run soon 2
    stop_cron
    [ "$(runs_of soon)" = 2 ]
}

@test "--on-failure in the file: failing, and recovered; the daemon does not wait for it" {
    cron_of <<'TAB'
every 1s often --on-failure 'echo "$ROWLOCK_STATE $(cat)" >>changes' -- echo out; [ -e fixed ]
TAB
    until_true is_there changes
    [ "$(cat changes)" = "failing out" ]
    touch fixed
    until_true grep -qx 'fine out' changes
    stop_cron
    [ "$(wc -l <changes)" = 2 ]
}

@test "HUP does not affect runs" {
    cron_of <<<"every 50w stays -- $(lives_on stays)"
    until_true is_there stays.pid
    token=$(view stays running_token)
    echo 'every 1s other -- echo other >>ran' >tab
    kill -s HUP "$daemon"
    until_true has_run other 1
    [ "$(view stays running_token)" = "$token" ]
    is_there_again "$(cat stays.pid)"
    kill -s TERM "$daemon" "$(cat stays.pid)"
    ends_with 0 "$daemon"
}

@test "a command has no input, no URL, no descriptor of rowlock's, and the daemon's signals" {
    cron_of <<TAB
every 50w look -- (readlink /proc/self/fd/0; ls /proc/\$\$/fd | tr '\n' ' '; echo; \
env | grep ^ROWLOCK_; grep -E '^Sig(Blk|Ign)' /proc/\$\$/status) >seen; mv seen look
TAB
    until_true is_there look
    cat look
    grep -qx /dev/null look
    run ! grep -q "^ROWLOCK_URL" look
    grep -qx 'ROWLOCK_NAME=job:look' look
    grep -q '^ROWLOCK_TOKEN=[1-9]' look
    grep -qE '^ROWLOCK_OWNER=[0-9a-f]{32}$' look
    grep -qE '^SigBlk:\s*0+$' look
    run ! grep -aq "$ROWLOCK_TEST_URL" "/proc/$daemon/cmdline"
    stop_cron
}

@test "without standard descriptors no run writes into a session of the daemon" {
    echo "every 50w a -- echo kept; touch ran" >tab
    start sh -c 'exec "$@" <&- >&- 2>&-' sh "$ROWLOCK" --db "$ROWLOCK_TEST_URL" cron tab
    daemon=$started
    until_true is_there ran
    until_true runs_nowhere a
    run_is a 0 outcome=done
    [ "$(view a 'history[0].output')" = kept ]
    stop_cron
}

@test "cron's escape of a percent sign is reported, and taken as it is" {
    printf '%s\n' '@daily a -- date "+\%F" >>ran' "every 50w b -- printf '%s\\%%' x >>ran" \
        '@daily c -- date +%F' >tab
    run -0 --separate-stderr rowlock cron --check tab
    [ "${#lines[@]}" = 4 ]
    grep -qx "rowlock: tab:1:20: warning: .% is cron's escape, .*: write %" <<<"$stderr"
    grep -q 'rowlock: tab:2:26: warning: ' <<<"$stderr"
    [ "$(wc -l <<<"$stderr")" = 2 ]
    start_cron
    until_true has_text ran
    [ "$(cat ran)" = 'x\%' ]
    stop_cron
    said 'tab:1:20: warning'
}

@test "another node has another schedule for a job: the daemon names both" {
    rowlock job both --every 1h -- true
    cron_of <<<'every 50w both -- true'
    until_true said "both: warning: it was planned by the schedule 'every 1h', and is now"
    rowlock job both --every 2h -- true
    kill -s HUP "$daemon" # else it asks within a minute
    until_true said "both: warning: it was planned by the schedule 'every 2h'"
    stop_cron
    [ "$(grep -c warning err)" = 2 ]
}
