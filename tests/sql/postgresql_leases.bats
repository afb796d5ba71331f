#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# acquire, renew, release: leases acquired by SQL alone equal those of the command. leases.bats
# has the tests that run on MariaDB too.
# Runs on: postgresql
# Quick: first
# Rest: postgresql/native

# shellcheck disable=SC2154
load lib

teardown() {
    close_sessions
    end_sessions
    sql "DELETE FROM rowlock.lease; DELETE FROM rowlock.waiter;
         DELETE FROM rowlock.job; DELETE FROM rowlock.run;
         ALTER TABLE rowlock.lease RESET (autovacuum_enabled);
         ALTER TABLE rowlock.waiter RESET (autovacuum_enabled);
         ALTER TABLE rowlock.job RESET (autovacuum_enabled);
         ALTER TABLE rowlock.run RESET (autovacuum_enabled)"
}

@test "a request does not fail while a transaction ends the lease: a later call queues" {
    token=$(db "SELECT rowlock.acquire('x', '5 min')")
    open_session ending
    ask ending BEGIN "SELECT 'ended: ' || rowlock.release($token)"
    answer ending '^ended: true$'
    request="SELECT token, ticket, place, holder, pause
               FROM rowlock.request('x', '5 min', 'owner of the request')"
    [ "$(db "$request")" = '||||00:00:00' ]
    ask ending ROLLBACK "SELECT 'rolled back'"
    answer ending '^rolled back$'
    [[ $(db "$request") =~ ^'|'[0-9]+'|1|a lease' ]]
    [ "$(db "SELECT rowlock.release($token)")" = t ]
    [[ $(db "$request") =~ ^[0-9]+'||' ]]
}

@test "p1 above READ COMMITTED no statement ends a lease that was renewed after its snapshot" {
    for call in "rowlock.vacuum()" "rowlock.release(TOKEN)" "rowlock.renew(TOKEN, '1 min')"; do
        token=$(db "SELECT rowlock.acquire('x', '5 min')")
        sql "UPDATE rowlock.lease SET expires = clock_timestamp() WHERE token = $token"
        open_session old
        ask old "BEGIN ISOLATION LEVEL REPEATABLE READ"
        ask old "SELECT count(*) || ' lease' FROM rowlock.lease"
        answer old '^1 lease$'
        db "SELECT rowlock.renew($token, '10 min')"
        ask old "SELECT ${call/TOKEN/$token}"
        answer old ' 40001: '
        rowlock check x --token "$token"
        [ "$(db "SELECT rowlock.release($token)")" = t ]
        close_sessions
        rm old*
    done
}

@test "a release that waits for a renewal ends the lease, and it stays released" {
    token=$(db "SELECT rowlock.acquire('x', '5 min')")
    open_session renewal
    ask renewal BEGIN "SELECT 'renewed' || rowlock.renew($token, '10 min')"
    answer renewal renewed
    db "SELECT rowlock.release($token)" 3>&- >released &
    waits() {
        [ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
                   AND query LIKE '%rowlock.release($token)%'")" = 1 ]
    }
    until_true waits
    ask renewal "COMMIT"
    wait $!
    [ "$(cat released)" = t ]
    next=$(db "SELECT rowlock.acquire('x', '5 min')")
    [ "$next" -gt "$token" ]
    fails_with RL005 "SELECT rowlock.renew($token, '1 min')"
}

@test "a lease and a transaction of the command call no procedural function for a free name" {
    [ "$ROWLOCK_TEST_TECHNIQUE" = native ] || return 0
    calls="SELECT coalesce(sum(s.calls), 0) FROM pg_stat_user_functions s
             JOIN pg_proc p ON p.oid = s.funcid
             JOIN pg_language l ON l.oid = p.prolang AND l.lanname = 'plpgsql'"
    database=$(sql "SELECT current_database()")
    sql "ALTER DATABASE $database SET track_functions = 'all'"
    for i in 1 2 3; do # every 127th token takes the other way
        before=$(sql "$calls")
        rowlock run x -- true
        rowlock run --tx x -- true
        after=$(sql "$calls")
        [ "$after" != "$before" ] || break
    done
    sql "ALTER DATABASE $database RESET track_functions"
    [ "$after" = "$before" ]
}

@test "a grant of two names reads no other leases, however many are held" {
    read=$(sql "BEGIN;
        INSERT INTO rowlock.lease (token, name, owner, host, pid, command, expires)
            SELECT t % 500 + 1, 'other ' || t, 'other', 'host', 1, 'command', 'infinity'
              FROM generate_series(1, 5000) t;
        ANALYZE rowlock.lease;
        SELECT status FROM rowlock.grant_lease('{a,b}', '{exclusive,exclusive}', '{NULL,NULL}',
                                               '{1,1}', 'me', 60000, 0, 0, 0, 'host', 1,
                                               'command', NULL);
        SELECT seq_tup_read FROM pg_stat_xact_user_tables
         WHERE schemaname = 'rowlock' AND relname = 'lease';
        ROLLBACK")
    echo "$read"
    [ "${read##*$'\n'}" = 0 ]
}

expects_one_waiter() { # [ANALYZE]: the planner, of a table that had more
    sql "INSERT INTO rowlock.waiter (ticket, name, mode)
         SELECT i, 'x', 'exclusive' FROM generate_series(1, 2000) i"
    [ -z "${1:-}" ] || sql "$1 rowlock.waiter"
    sql "DELETE FROM rowlock.waiter"
    sql "VACUUM rowlock.waiter"
}

@test "a look at the queue, and a roll call, read few rows for each waiter" {
    db "SELECT rowlock.prepare('x')"
    expects_one_waiter
    read=$(sql "BEGIN;
        SELECT status FROM rowlock.place(2000, pg_backend_pid(), 1000);
        SELECT rowlock.overtake(2000, 0, 1000) > 0;
        SELECT rowlock.remove_dead(1);
        INSERT INTO rowlock.waiter (ticket, name, mode)
            SELECT i, 'x', 'exclusive' FROM generate_series(1, 2000) i;
        SELECT status FROM rowlock.place(2000, pg_backend_pid(), 1000);
        SELECT rowlock.remove_dead(1);
        SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables
         WHERE schemaname = 'rowlock' AND relname = 'waiter';
        SELECT rowlock.overtake(2000, 0, 1000) > 0;
        SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables
         WHERE schemaname = 'rowlock' AND relname = 'waiter';
        SELECT count(*) FROM rowlock.waiter WHERE roll_call IS NULL;
        ROLLBACK")
    echo "$read"
    [ "$(sed -n 6p <<<"$read")" -lt 80 ]
    [ "$(sed -n 8p <<<"$read")" -lt 10000 ]
    [ "$(sed -n 9p <<<"$read")" = 1 ] # the caller's own
}

how_far_back() { # prints how many are ahead of tickets 100 and 2000, and the number of rows read
    sql "BEGIN;
        INSERT INTO rowlock.waiter (ticket, name, mode)
            SELECT i, 'x', 'exclusive' FROM generate_series(1, 2000) i
             UNION ALL
            SELECT i, 'y', 'exclusive' FROM generate_series(-2000, -1) i;
        SELECT before FROM rowlock.place(100, 0, 1000);
        SELECT before FROM rowlock.place(2000, 0, 1000);
        SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables
         WHERE schemaname = 'rowlock' AND relname = 'waiter';
        ROLLBACK"
}
@test "a waiter without a session lock learns how far back it is from 300 rows at most" {
    for statistics in '' ANALYZE; do # of the table as it was before
        open_client # its snapshot keeps the dead rows: the planner knows of pages without rows
        in_client 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM rowlock.waiter'
        expects_one_waiter $statistics
        close_client
        read=$(how_far_back)
        echo "$read"
        [ "$(sed -n 1p <<<"$read")" = 99 ]
        [ "$(sed -n 2p <<<"$read")" = 300 ]
        [ "$(sed -n 3p <<<"$read")" -lt 1000 ]
    done
}

@test "p10 a waiter without a session lock looks shortly while the one ahead lives" {
    read=$(sql "BEGIN;
        INSERT INTO rowlock.waiter (ticket, name, mode, alive_until)
            SELECT i, 'x', 'exclusive', clock_timestamp() + interval '1 min'
              FROM generate_series(1, 50) i;
        SELECT status, number, before, free FROM rowlock.place(50, 0, 60000);
        SELECT status, number, before, free FROM rowlock.place(17, 0, 60000);
        UPDATE rowlock.waiter SET alive_until = clock_timestamp() - interval '1 s'
         WHERE ticket BETWEEN 40 AND 44;
        SELECT status, number, before, free FROM rowlock.place(46, 0, 60000);
        SELECT status, number, before, free FROM rowlock.place(45, 0, 60000);
        SELECT count(*) FROM rowlock.waiter;
        ROLLBACK")
    echo "$read"
    [ "$(tr '\n' ' ' <<<"$read")" = "11|49|49|0 11|16|16|1 11|45|45|0 11|39|12|1 45 " ]
}

pages() { # CALL OTHER: how many pages the second call reads, when its statements have been planned
    db "SELECT $1" "EXPLAIN (ANALYZE, BUFFERS, TIMING off) SELECT $2" |
        sed -n 's/^ *Buffers: shared hit=\([0-9]*\).*/\1/p' | head -n 1
}

# The planner does, whatever the table has, as after a VACUUM. That would not remove rows that an
# old snapshot sees, and would estimate those of pages that it skips.
expects_no_row() { # TABLE
    sql "ALTER TABLE rowlock.$1 SET (autovacuum_enabled = false);
         UPDATE pg_class SET relpages = 100, reltuples = 0 WHERE oid = 'rowlock.$1'::regclass"
}

@test "a lease is searched by the index of names, also if the planner expects no lease" {
    db "SELECT rowlock.prepare('a'), rowlock.prepare('b')"
    for table in lease waiter; do expects_no_row $table; done
    sql "INSERT INTO rowlock.lease (token, name, expires)
            SELECT i, 'n' || i, 'infinity' FROM generate_series(1, 30000) i;
        INSERT INTO rowlock.waiter (ticket, name, mode)
            SELECT i, 'n' || i, 'exclusive' FROM generate_series(1, 30000) i"
    while read -r first second; do
        # the installation of a schema elsewhere on the server may have emptied the session's caches
        for _ in 1 2 3; do
            pages=$(pages "rowlock.$first" "rowlock.$second")
            echo "$second: $pages pages"
            [ "$pages" -ge 100 ] || break
        done
        [ "$pages" -lt 100 ]
    done <<'TEXT'
exclusive('a') exclusive('b')
shared('a') shared('b')
acquire('a','5min') acquire('b','5min')
acquire('c','5min','shared') acquire('d','5min','shared')
acquire('e','5min','permit',2) acquire('f','5min','permit',2)
look('x','exclusive',NULL,1,0,true) look('y','exclusive',NULL,1,0,true)
leased('{x}','{exclusive}') leased('{y}','{exclusive}')
sweep('{x}','{exclusive}',1) sweep('{y}','{exclusive}',1)
break('x',0,true) break('y',0,true)
list('x') list('y')
holders('x') holders('y')
TEXT
}

@test "p10 what a waiter does between two holders is planned before it waits" {
    plans="SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'CachedPlanSource'"
    name="convert_from('planned'::bytea, 'UTF8')" # with the collation that the library's has
    local ROWLOCK_TEST_URL=$ROWLOCK_TEST_ADMIN # only a superuser sees the memory of a session
    run db "CREATE TEMP TABLE ticket AS SELECT number FROM rowlock.enqueue(ARRAY['planned'],
                ARRAY['exclusive'], ARRAY[NULL::integer], ARRAY[1], 'o', pg_backend_pid(), 60000,
                NULL, NULL, NULL, NULL)" \
        "CREATE TEMP TABLE earlier AS $plans" \
        "CREATE TEMP TABLE granted AS SELECT token FROM ticket, rowlock.turn($name, 'o', 60000,
             1000, number, pg_backend_pid(), NULL, NULL, NULL, NULL, 1, 0)" \
        "SELECT rowlock.end_lease(token, $name, 'o', session => pg_backend_pid()) FROM granted" \
        "SELECT earlier.count > 0, later.count - earlier.count FROM ($plans) later, earlier" \
        "SELECT count(*) FROM rowlock.lease WHERE name = ''"
    [ "$output" = $'t\nt|0\n0' ]
}

@test "lists look up each lease and run once, also if the planner expects none" {
    pages_read() { # by all sessions; a session reports its reads when it ends
        db "SELECT sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit + idx_blks_read, 0))
              FROM pg_statio_user_tables WHERE schemaname = 'rowlock'"
    }
    all_jobs() { rowlock jobs; }
    troubled_jobs() { rowlock --json top | jq -c '.jobs[]'; }
    db "SELECT rowlock.vacuum()"
    # of the test above, indexes would keep a level more until they are vacuumed
    sql "TRUNCATE rowlock.lease, rowlock.job, rowlock.run"
    for table in lease job run; do expects_no_row $table; done
    sql "INSERT INTO rowlock.lease (token, name, expires)
            SELECT i, 'job:j' || i, now() + interval '1 hour' FROM generate_series(1, 1000) i;
        INSERT INTO rowlock.job (name, version, schedule, due, running)
            SELECT 'j' || i, 1, 'every 5m', 0, i % 2 * i FROM generate_series(1, 1000) i;
        INSERT INTO rowlock.run (token, job, node, pid, due, repeats, started, taken_until)
            SELECT i, 'j' || (i - 1) % 5000 + 1, 'n', 1, 0, 0, 0, 0
              FROM generate_series(1, 30000) i"
    while read -r list expected; do
        before=$(pages_read)
        case $list in
        rowlock.*) lines=$(db "SELECT count(e) FROM $list e") ;;
        *) lines=$("$list" | wc -l) ;;
        esac
        pages=$(($(pages_read) - before))
        echo "$list: $lines lines, $pages pages read"
        [ "$lines" = "$expected" ]
        [ "$pages" -lt 120000 ]
    done <<'TEXT'
rowlock.names 1000
rowlock.holders 1000
rowlock.jobs 1000
rowlock.list(NULL) 1000
all_jobs 1001
troubled_jobs 1000
TEXT
}

@test "a release succeeds although its history raises a failed assertion, or is cancelled" {
    rowlock schema set history all
    for body in 'ASSERT false' 'PERFORM pg_cancel_backend(pg_backend_pid()), pg_sleep(60)'; do
        token=$(db "SELECT rowlock.acquire('x', '5 min')")
        sql "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql
                 AS 'BEGIN $body; RETURN NEW; END';
             CREATE TRIGGER refuse BEFORE INSERT ON rowlock.history
                 FOR EACH ROW EXECUTE FUNCTION public.refuse()"
        run db "SELECT rowlock.release($token)"
        sql "DROP FUNCTION public.refuse CASCADE"
        echo "$body: $status: $output"
        [ "$status" = 0 ]
        [[ $output == *t ]]
    done
    rowlock schema set history slow
}

request() { # NAME OWNER [ARGUMENT...]: prints token|ticket|place|holder
    local name=$1 owner="the owner called $2" rest=""
    shift 2
    for each; do rest+=", $each"; done
    db "SELECT token, ticket, place, holder FROM rowlock.request('$name', '5 min', '$owner'$rest)"
}

waits_for_the_owner() {
    [ "$(sql "SELECT count(*) FROM pg_stat_activity
              WHERE datname = current_database() AND wait_event_type = 'Lock'")" = 1 ]
}

@test "a request that is repeated while its first call still runs returns the same ticket" {
    db "SELECT rowlock.acquire('twice', '5 min') > 0"
    for session in first second; do open_session "$session"; done
    call="SELECT 'ticket', ticket FROM rowlock.request('twice', '5 min', 'the owner called t')"
    in_session first BEGIN "$call"
    ask second "$call"
    until_true waits_for_the_owner
    ask first COMMIT
    answer second '^ticket'
    [ "$(grep ^ticket first)" = "$(grep ^ticket second)" ]
}

@test "p7 a request that waits behind the command only reads, and delays no waiter" {
    token=$(rowlock acquire --ttl 5m x)
    start_waiter x
    request x b
    open_session request
    ask request "SELECT place FROM rowlock.request('x', '5 min', 'the owner called b', '1 min')"
    waits() {
        state=$(sql "SELECT backend_xid IS NULL FROM pg_stat_activity
                      WHERE wait_event = 'advisory' AND query LIKE '%the owner called b%'")
        [ "$state" ]
    }
    until_true waits
    [ "$state" = t ]
    rowlock release x --token "$token"
    wait "$started"
    is_granted() { [[ $(request x b "'1 s'") =~ ^[0-9]+'|||'$ ]]; }
    answer request '^[01]$'
    until_true is_granted
    db "SELECT rowlock.cancel('x', 'the owner called b')"
}

settings="SELECT string_agg(current_setting(s), ' ')
          FROM unnest('{lock_timeout,synchronous_commit,
          idle_in_transaction_session_timeout,transaction_isolation}'::text[]) s"

@test "a request leaves no setting, and no lock, behind in its session" {
    db "SELECT rowlock.prepare('x')"
    token=$(db "SELECT rowlock.acquire('x', '5 min')")
    call="SELECT place FROM rowlock.request('x', '5 min', 'the owner called a', '300 ms')"
    run db "SET lock_timeout = '7s'" "BEGIN" "$settings" "$call" "$settings" "COMMIT" \
        "BEGIN" "$call" "$settings" "COMMIT" "$settings" \
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
    expected='7s on 0 read committed' # within its transaction the session may idle for 2 s
    [ "$output" = "$expected
1
7s on 2s read committed
1
7s on 2s read committed
$expected
0" ]
    db "SELECT rowlock.cancel('x', 'the owner called a')" "SELECT rowlock.release($token)"
}

@test "a request is refused in a transaction that has written, another request included" {
    for before in "CREATE TEMPORARY TABLE written ()" \
        "SELECT rowlock.request('y', '5 min', 'the owner called y')"; do
        echo "25001 HINT:  COMMIT first | BEGIN; $before;" \
            "SELECT rowlock.request('x', '5 min', repeat('x', 16))"
    done >refused
    each_fails <refused
    [ "$(db "BEGIN" "SELECT token > 0 FROM rowlock.request('x', '5 min', repeat('x', 16))" \
        "COMMIT" "SELECT rowlock.cancel('x', repeat('x', 16))")" = $'t\nt' ]
}

in_doubt() { # the queue of x has b, in its open transaction, whose sign of life has ended; and c
    token=$(db "SELECT rowlock.acquire('x', '5 min')")
    request x b
    request x c
    sql "UPDATE rowlock.waiter SET alive_until = clock_timestamp() WHERE owner LIKE '%b'"
    open_session block
    ask block BEGIN "SELECT place FROM rowlock.request('x', '5 min', 'the owner called b'); $1"
    answer block '^1$'
    db "SELECT rowlock.release($token)"
}

c_gets_it() { [[ $(request x c "'1 s'") =~ ^[0-9]+'|||'$ ]]; }
c_waits_a_second() { # not for less: a call ends early if the roll call is due, every 2 s at most
    [ "$(db "SELECT token IS NULL, clock_timestamp() - statement_timestamp() >= '1 s'
             FROM rowlock.request('x', '5 min', 'the owner called c', '1 s')")" = 't|t' ]
}

@test "p6 a request within a transaction that idles delays the others for a few seconds" {
    in_doubt "SELECT 1"
    until_true c_gets_it
    ask block "SELECT 2"
    answer block "idle-in-transaction timeout"
    db "SELECT rowlock.cancel('x', 'the owner called c')"
}

@test "p10 the others wait while a request's transaction works" {
    in_doubt "SELECT pg_sleep(600)"
    until_true asleep
    until_true c_waits_a_second
    until_true c_waits_a_second
    end_sessions
    until_true c_gets_it
    db "SELECT rowlock.cancel('x', 'the owner called c')"
}

@test "texts about the client are as long as on MariaDB, and no longer" {
    statements=()
    for text in "host:255" "program:255" "note:1024"; do
        argument="${text%:*} => repeat('ä', ${text#*:})"
        request="rowlock.request('x', '1 min', repeat('x', 16), $argument"
        echo "22001 ${text%:*} has more than ${text#*:} characters | SELECT $request || 'ä')"
        statements+=("SELECT token > 0 FROM $request)"
            "SELECT rowlock.cancel('x', repeat('x', 16))")
    done >too-long
    each_fails <too-long
    [ "$(db "${statements[@]}" | paste -sd' ')" = "t t t t t t" ]
}

@test "bad input is refused before anything is written" {
    each_fails <<TEXT
22023 random | SELECT rowlock.request('x', '1 min', NULL)
22023 random | SELECT rowlock.request('x', '1 min', '')
22023 random | SELECT rowlock.request('x', '1 min', 'fifteen letters')
22023 random | SELECT rowlock.request('x', '1 min', repeat('x', 65))
22023 HINT:  Such as: mode => 'permit', limit_ => 3 | \
    SELECT rowlock.request('x', '1 min', repeat('x', 16), mode => 'permit')
22023 | SELECT rowlock.request('x', '0.9 s', repeat('x', 16))
RL003 | SELECT rowlock.request('', '1 min', repeat('x', 16))
RL001 | BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT rowlock.request('x', '1 min', repeat('x', 16))
22023 | SELECT rowlock.acquire('x', NULL)
22023 | SELECT rowlock.acquire('x', '0.999 s')
22023 | SELECT rowlock.acquire('x', '-1 h')
22023 | SELECT rowlock.acquire('x', '101 years')
22023 | SELECT rowlock.acquire('x', '1 min', 'alone')
22023 | SELECT rowlock.acquire('x', '1 min', NULL)
22023 | SELECT rowlock.acquire('x', '1 min', 'permit')
22023 | SELECT rowlock.acquire('x', '1 min', 'permit', 0)
22023 | SELECT rowlock.acquire('x', '1 min', 'shared', 3)
22023 | SELECT rowlock.acquire('x', '1 min', 'exclusive', 1)
RL003 | SELECT rowlock.acquire(NULL, '1 min')
RL003 | SELECT rowlock.acquire('', '1 min')
RL003 | SELECT rowlock.acquire(repeat('x', 256), '1 min')
RL001 | BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT rowlock.acquire('x', '1 min')
TEXT
    token=$(db "SELECT rowlock.acquire('x', '1 min')")
    each_fails <<TEXT
22023 | SELECT rowlock.renew($token, NULL)
22023 | SELECT rowlock.renew($token, '0.999 s')
22023 | SELECT rowlock.renew($token, '101 years')
TEXT
    [ "$(db "SELECT count(*) FROM rowlock.lease")" = 1 ]
}

@test "in a transaction the lease exists after COMMIT, not after ROLLBACK; no setting changes" {
    db "SELECT rowlock.prepare('held')"
    open_session b
    in_session b BEGIN "SELECT rowlock.exclusive('held')"
    open_session a
    # it waits a moment for the name held, with timeouts of its own
    in_session a BEGIN "SET LOCAL lock_timeout = '7s'" \
        "SET LOCAL idle_in_transaction_session_timeout = '70s'" \
        "SELECT 'token=' || rowlock.acquire('x', '5 min')" \
        "SELECT 'busy' WHERE rowlock.acquire('x', '5 min') IS NULL" \
        "SELECT 'held' WHERE rowlock.acquire('held', '5 min') IS NULL" "$settings"
    said a '^busy'
    said a '^held'
    said a '^7s on 70s read committed$'
    [ "$(db "SELECT count(*) FROM rowlock.lease")" = 0 ] # and still no session can acquire the name
    [ "$(db "SELECT coalesce(rowlock.acquire('x', '5 min')::text, 'busy')")" = busy ]
    in_session a COMMIT
    token=$(sed -n 's/^token=//p' a)
    rowlock check x --token "$token"
    db "BEGIN" "SELECT rowlock.release($token)" "ROLLBACK"
    rowlock check x --token "$token"
    [[ $(db "BEGIN" "SELECT rowlock.release($token)" "$settings" \
        "COMMIT") == *"0 on 0 read committed" ]]
    token=$(db "BEGIN" "SELECT rowlock.acquire('x', '5 min')" "ROLLBACK")
    fails_with RL005 "SELECT rowlock.renew($token, '1 min')"
    rowlock run -n x -- true
}

# A transaction lock becomes a lease without a gap.
@test "a transaction that has locked the name may acquire it" {
    db "SELECT rowlock.prepare('x')"
    token=$(db "BEGIN" "SELECT 't' FROM rowlock.exclusive('x')" \
        "SELECT rowlock.acquire('x', '5 min')" "COMMIT" | tail -n 1)
    rowlock check x --token "$token"
}
