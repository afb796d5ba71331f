#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The views: holders and waiters, names, jobs, subjects; and the roles that may read them.
# Runs on: postgresql
# Quick: first
# Rest: postgresql

# shellcheck disable=SC2154
load lib
load ../command/roles

teardown() {
    end_started
    close_sessions
    end_sessions
    sql "DELETE FROM rowlock.lease; DELETE FROM rowlock.waiter"
}

@test "a lease in holders, and its waiters in waiters, in their order" {
    token=$(rowlock hold --for 5m --note 'ask Ann' x)
    [ "$(db "SELECT name, kind, mode, token, permits, note, broken, waiting,
             expires > now() + interval '1 min', since <= clock_timestamp(),
             host <> '', key = rowlock.key('x')
             FROM rowlock.holders")" = "x|lease|exclusive|$token||ask Ann|f|0|t|t|t|t" ]
    start_waiter x --note first
    start_rowlock run -s --note second x -- true
    two() { [ "$(db "SELECT count(*) FROM rowlock.waiters")" = 2 ]; }
    until_true two
    [ "$(db "SELECT name, kind, mode, place, permits, note, program, pid > 0, ticket > $token,
             since <= clock_timestamp()
             FROM rowlock.waiters
             ORDER BY place")" \
        = $'x|lease|exclusive|1||first|true|t|t|t\nx|lease|shared|2||second|true|t|t|t' ]
    [ "$(db "SELECT waiting FROM rowlock.holders WHERE name = 'x' AND kind = 'lease'")" = 2 ]
    rowlock break x
    [ "$(db "SELECT broken FROM rowlock.holders WHERE token = $token")" = t ]
}

@test "an expired lease and a dead waiter are not shown" {
    db "SELECT rowlock.acquire('e', '1 s')"
    shown() { [ "$(db "SELECT count(*) FROM rowlock.holders WHERE name = 'e'")" = 1 ]; }
    not_shown() { ! shown; }
    until_true not_shown
    [ "$(db "SELECT leased FROM rowlock.names WHERE name = 'e'")" = f ]
    sql "INSERT INTO rowlock.waiter (ticket, name, mode, alive_until)
         VALUES (5, 'e', 'exclusive', NULL),
         (6, 'e', 'exclusive', now() - interval '1 s'),
         (7, 'e', 'exclusive', now() + interval '1 h')"
    [ "$(db "SELECT ticket, place FROM rowlock.waiters")" = '7|1' ]
}

@test "permits are one row per token" {
    db "SELECT rowlock.acquire('p', '5 min', 'permit', 3)" \
        "SELECT rowlock.acquire('p', '5 min', 'permit', 3)"
    hold_by run --limit 3 p
    [ "$(db "SELECT count(*), count(DISTINCT token), sum(permits), max(\"limit\")
             FROM rowlock.holders WHERE mode = 'permit'")" = '3|3|3|3' ]
    let_go
}

@test "transactions by name or, if it is unknown, by key; and their waiters" {
    db "SELECT rowlock.prepare(n) FROM unnest('{x,counter:c}'::text[]) n" "SELECT rowlock.next('c')"
    open_session a
    in_session a BEGIN "SELECT rowlock.next('c')" "SELECT rowlock.exclusive('x')" \
        "SELECT 'pid=' || pg_backend_pid()"
    pid=$(sed -n 's/^pid=//p' a)
    [ "$(db "SELECT kind, mode, pid, host, program, token IS NULL, since <= clock_timestamp(),
             waiting FROM rowlock.holders
             WHERE name = 'counter:c'")" = "transaction|exclusive|$pid|127.0.0.1|psql|t|t|0" ]
    [ "$(db "SELECT name, kind, pid FROM rowlock.holders
             WHERE key = rowlock.key('x')")" = "|unknown|$pid" ]
    open_session b
    in_session b "SELECT 'pid=' || pg_backend_pid()"
    ask b "SELECT rowlock.exclusive('counter:c')"
    until_true somebody_waits
    waiter=$(sed -n 's/^pid=//p' b)
    [[ $(db "SELECT name, kind, mode, pid, program, since <= clock_timestamp() FROM rowlock.waiters
             WHERE name = 'counter:c'") \
        == "counter:c|transaction|exclusive|$waiter|psql|t" ]]
    [ "$(db "SELECT waiting FROM rowlock.holders WHERE name = 'counter:c'")" = 1 ]
    in_session a COMMIT
    in_session b
    [ "$(db "SELECT count(*) FROM rowlock.holders")" = 0 ]
}

@test "another program's advisory lock is marked as such" {
    open_session a
    in_session a "SELECT pg_advisory_lock(4711)"
    [ "$(db "SELECT name IS NULL, kind, mode, key
             FROM rowlock.holders")" = 't|unknown|exclusive|4711' ]
}

@test "names shows the source of each name, jobs and subjects their last results" {
    rowlock job nightly --every 1d -- true
    run rowlock job broken --every 1d -- sh -c 'exit 3'
    rowlock refresh rates --max-age 1d -- true
    run rowlock refresh wrong --max-age 1d -- false
    db "SELECT rowlock.prepare('counter:c')" "SELECT rowlock.next('c')" \
        "SELECT rowlock.acquire('leased', '5 min')"
    names=$(db "SELECT name FROM rowlock.names WHERE key = rowlock.key(name)
                ORDER BY name COLLATE \"C\"")
    for name in counter:c job:broken job:nightly leased subject:rates subject:wrong; do grep \
        -qx "$name" <<<"$names"; done
    [ "$(db "SELECT leased, kept FROM rowlock.names
             WHERE name = 'leased'")" \
        = 't|f' ]
    [ "$(db "SELECT name, schedule, state, exit, started <= finished, due > now(), token IS NULL,
             failed IS NOT NULL, node <> ''
             FROM rowlock.jobs ORDER BY name")" \
        = $'broken|every 1d|failed|3|t|t|t|t|t\nnightly|every 1d|done|0|t|t|t|f|t' ]
    [ "$(db "SELECT name, status, made, updated <= clock_timestamp(), age_ms >= 0, began <= ended
             FROM rowlock.subjects ORDER BY name")" \
        = $'rates|COMPLETE|t|t|t|t\nwrong|ERROR|f|||t' ]
    rowlock expire rates
    [ "$(db "SELECT updated IS NULL FROM rowlock.subjects WHERE name = 'rates'")" = t ]
    hold_by job nightly2 --every 1d
    [ "$(db "SELECT j.state, h.name FROM rowlock.jobs j JOIN rowlock.holders h
             USING (token)")" = 'running|job:nightly2' ]
    let_go
}

@test "the printed GRANTs let pg_monitor and the application read the views and use ls, no more" {
    monitor=monitor_${ROWLOCK_TEST_URL##*_}
    application=application_${ROWLOCK_TEST_URL##*_}
    sql "CREATE ROLE $monitor LOGIN IN ROLE pg_monitor; CREATE ROLE $application LOGIN" >/dev/null
    print_grants "$application" | paste_in
    db "SELECT rowlock.prepare('x')" "SELECT rowlock.prepare('subject:s')"
    token=$(db "SELECT rowlock.acquire('x', '5 min')")
    rowlock job seen --every 50w -- true
    wrong=0 views=()
    for view in holders waiters names jobs subjects; do views+=("SELECT * FROM rowlock.$view"); done
    for role in "$monitor" "$application"; do
        url=postgresql://$role@${ROWLOCK_TEST_URL#*@}
        shown=$(ROWLOCK_TEST_URL=$url db "${views[@]}" \
            "SELECT string_agg(token::text, ' ') FROM rowlock.holders") || wrong=1
        [ "${shown##*$'\n'}" = "$token" ] || wrong=1
        [[ $(ROWLOCK_TEST_URL=$url rowlock ls x) == *"$token"* ]] || wrong=1
        [[ $(ROWLOCK_TEST_URL=$url rowlock jobs seen) == *done* ]] || wrong=1
    done
    owner="'the owner called a'" # the application waits, calls the roll, and gives up
    db "SELECT number FROM rowlock.enqueue('{q}', '{exclusive}', '{NULL}', '{1}', 'silent', 0,
                                         600000, 'h', 1, 'c', NULL)"
    called() {
        ROWLOCK_TEST_URL=postgresql://$application@${ROWLOCK_TEST_URL#*@} \
            db "SELECT place FROM rowlock.request('q', '1 min', $owner, '2 s')" || wrong=1
        [ $wrong = 1 ] ||
            [ "$(sql "SELECT count(*) FROM rowlock.waiter WHERE roll_call > 0")" = 1 ]
    }
    until_true called
    ROWLOCK_TEST_URL=postgresql://$application@${ROWLOCK_TEST_URL#*@} \
        db "SELECT rowlock.cancel('q', $owner)" \
        "SELECT rowlock.refreshed('s', rowlock.refresh('s'))" || wrong=1
    ROWLOCK_TEST_URL=postgresql://$monitor@${ROWLOCK_TEST_URL#*@} each_fails <<TEXT || wrong=1
42501 | SELECT rowlock.exclusive('y')
42501 | SELECT rowlock.vacuum()
42501 | SELECT rowlock.release($token)
42501 | DELETE FROM rowlock.lease
42501 | SELECT rowlock.acquire('y', '1 min')
42501 | SELECT rowlock.break('x', 0, true)
TEXT
    sql "DROP OWNED BY $application; DROP ROLE $monitor; DROP ROLE $application"
    [ $wrong = 0 ]
}

@test "uninstall drops the views, and keeps other roles' objects" {
    sql "CREATE VIEW rowlock.mine AS SELECT 1 AS one"
    run ! rowlock schema uninstall --force
    [[ $output == *mine* ]]
    sql "DROP VIEW rowlock.mine"
    rowlock schema uninstall --force
    install_technique
}
@test "every function has a comment, which marks internal ones" {
    [ "$(sql "SELECT count(*) FROM pg_proc p WHERE p.pronamespace = 'rowlock'::regnamespace
               AND obj_description(p.oid, 'pg_proc') IS NULL")" = 0 ]
    [ "$(sql "SELECT obj_description('rowlock.session_key(bigint)'::regprocedure, 'pg_proc')")" = \
        "internal: called only by rowlock's own functions and library" ]
}
