#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Leases acquired by SQL alone equal those of the command, where both servers do the same.
# postgresql_leases.bats and mariadb_leases.bats have the rest. The words of each server come first.
# Runs on: postgresql mariadb
# Quick: first
# Rest: postgresql/native mariadb

about() { # [HOST PID PROGRAM NOTE]: as arguments of a request
    if [ $# = 4 ]; then echo "'$1', $2, '$3', '$4'"; else echo NULL, NULL, NULL, NULL; fi
}
if [ "$ROWLOCK_TEST_ENGINE" = postgresql ]; then
    load lib
    now="now()" several=1-3 # the holder's text has the number of waiters, which grows
    request() { # NAME OWNER [WAIT_MS MODE [HOST PID PROGRAM NOTE]]: token|ticket|place|holder
        db "SELECT token, ticket, place, holder
              FROM rowlock.request('$1', '10 min', 'the owner called $2', '${3:-0} ms',
            '${4:-exclusive}', NULL, $(about "${@:5}"))"
    }
    pause() { # NAME OWNER: milliseconds
        db "SELECT (extract(epoch FROM pause) * 1000)::int
              FROM rowlock.request('$1', '10 min', 'the owner called $2')"
    }
    cancel() { db "SELECT rowlock.cancel('$1', 'the owner called $2')::int"; } # NAME OWNER
    renew() { db "SELECT rowlock.renew($1, interval '1 ms' * ${2:-600000})"; } # TOKEN [MS]
    release() { db "SELECT rowlock.release($1)::int"; } # TOKEN
    fence() { # NAME TOKEN
        db BEGIN "SELECT rowlock.fence('$1', $2)" "SELECT rowlock.exclusive('$1', $2)" COMMIT
    }
    expire() {
        sql "UPDATE rowlock.lease SET expires = now() - interval '1 s' WHERE token > 0"
    }
    enqueue() { # NAME [OWNER]: a silent waiter
        db "SELECT number FROM rowlock.enqueue(ARRAY['$1'], '{exclusive}', '{NULL}', '{1}',
            'silent$2', 0, 600000, 'h', 1, 'c', NULL)"
    }
    vacuum() { db "SELECT rowlock.vacuum()"; }
    acquire() { # NAME [MODE [LIMIT]]: its token, or nothing
        db "SELECT rowlock.acquire('$1', '10 min', '${2:-exclusive}', ${3:-NULL})"
    }
    move_names() {
        sql "INSERT INTO rowlock.lease (name, n, token, mode, expires, acquired)
             SELECT name, -99999, -100000, 'moved', '-infinity', clock_timestamp()
               FROM unnest('{back,front}'::text[]) name"
    }
else
    load mariadb
    now="utc_timestamp(6)" several=1-4 heartbeat=heartbeat
    request() {
        say "CALL rowlock_request_row('$1', 600000, 'the owner called $2', ${3:-0},
             '${4:-exclusive}', NULL, $(about "${@:5}"))" |
            sed $'s/\tNULL/\t/g; s/^NULL//; s/\t/|/g; s/|[^|]*$//' # without pause_ms
    }
    pause() {
        say "CALL rowlock_request('$1', 600000, 'the owner called $2', 0, 'exclusive', NULL, NULL,
             NULL, NULL, NULL, @token, @ticket, @place, @holder, @pause_ms); SELECT @pause_ms"
    }
    renew() { say "CALL rowlock_renew($1, ${2:-600000})"; }
    release() { # the answer has another word if a transaction is open
        say "CALL rowlock_release($1, @a); SELECT CONCAT(@a, IF(@@in_transaction, ' open', ''))"
    }
    fence() { say "START TRANSACTION; CALL rowlock_fence('$1', $2); COMMIT"; }
    expire() {
        sql "UPDATE rowlock_heartbeat SET expires = $now - INTERVAL 1 SECOND;
             UPDATE rowlock_name SET expires = $now - INTERVAL 1 SECOND"
    }
    cancel() { say "CALL rowlock_cancel('$1', 'the owner called $2', @c); SELECT @c"; }
    enqueue() {
        sql "CALL rowlock_enqueue(CONCAT(HEX('$1'), ':x:0:0'), 'silent$2', 0, 600000, 'h', 1, 'c',
             NULL)"
    }
    vacuum() { sql "CALL rowlock_vacuum(@removed)"; }
    acquire() { # no old value of the variable remains
        say "SET @t = 1; CALL rowlock_acquire('$1', 600000, '${2:-exclusive}', ${3:-NULL}, @t);
             SELECT COALESCE(@t, '')"
    }
    move_names() { rowlock run back front -- true; } # its names do not move
fi
teardown() {
    close_sessions
    end_sessions
    for table in lease ${heartbeat:-} waiter; do sql "DELETE FROM $ours$table"; done
    [ -z "${heartbeat:-}" ] || sql "UPDATE rowlock_name SET held = 0"
}
count() { sql "SELECT count(*) FROM $ours$1"; } # TABLE

@test "a lease by SQL excludes the command, transactions and other leases until it is released" {
    token=$(acquire x)
    [ "$token" -gt 0 ]
    [ -z "$(acquire x)$(acquire x shared)" ]
    for words in "run -n" "run -n --tx"; do
        # shellcheck disable=SC2086
        run -75 rowlock $words x -- true
    done
    [ "$(item x '$[0].token') $(item x '$[0].state')/$(item x '$[0].mode')" = \
        "$token held/exclusive" ]
    rowlock check x --token "$token"
    [ "$(release "$token")$(release "$token")$(release NULL)" = 100 ]
    rowlock run -w 20 x -- true
    [ "$(acquire x)" -gt "$token" ]
}

@test "p1 a busy name is not an error, for any holder: a transaction, the command, a waiter" {
    hold x
    [ -z "$(acquire x)" ]
    let_go
    token=$(acquire x)
    start_rowlock run x -- sh -c 'echo >got; until [ -e end ]; do sleep 0.02; done'
    until_true is_waited_for x
    [ -z "$(acquire x)" ]
    release "$token"
    until_true is_there got # without any session lock of ours that would wake it
    [ -z "$(acquire x)" ]
    touch end
    wait "$started"
    [ "$(acquire x)" -gt "$token" ]
}

@test "p1 shared leases go together, and permits up to their limit, which all state equally" {
    one=$(acquire s shared)
    [ "$(acquire s shared)" -gt "$one" ]
    rowlock run -n -s s -- true
    run -75 rowlock run -n s -- true
    [ -z "$(acquire s)" ]
    one=$(acquire p permit 3)
    [ "$(acquire p permit 3)" -gt "$one" ]
    rowlock run -n --limit 3 p -- true
    two=$(acquire p permit 3)
    [ "$two" -gt "$one" ]
    run -75 rowlock run -n --limit 3 p -- true
    [ -z "$(acquire p permit 3)" ]
    run acquire p permit 4
    [[ $output == *ERROR*'limit 3'*'limit 4'* ]]
    [ "$(release "$one")" = 1 ]
    [ "$(acquire p permit 3)" -gt "$two" ]
}

@test "renew prolongs and never shortens; the command renews, breaks and releases too" {
    token=$(acquire kept)
    was=$(item kept '$[0].expires')
    renew "$token" 1000
    [ "$(item kept '$[0].expires')" = "$was" ]
    rowlock renew kept --token "$token" --ttl 1h
    later=$(item kept '$[0].expires')
    [[ $later > $was ]]
    renew "$token" 86400000
    [[ $(item kept '$[0].expires') > $later ]]
    rowlock break kept
    run renew "$token"
    [[ $output == *RL005*broken* ]]
    run -75 rowlock run -n kept -- true # until its holder releases it
    [ "$(release "$token")" = 1 ]
    other=$(acquire kept)
    rowlock release kept --token "$other"
    for lost in "$token" "$other" 1 NULL; do
        run renew "$lost"
        [[ $output == *RL005* ]]
    done
}

@test "p4 its token fences, and no other" {
    token=$(acquire x)
    [[ $(fence x "$token") != *ERROR* ]]
    [[ $(fence x 1) == *RL005* ]]
    release "$token"
    [[ $(fence x "$token") == *RL005* ]]
}

# leases/requests repeats a request that was granted, and one of another kind.
@test "a request whose reply was lost is repeated: the same place" {
    token=$(request twice a)
    [[ $token =~ ^[0-9]+'|||'$ ]]
    b=$(request twice b)
    [[ $b =~ ^'|'[0-9]+'|1|a lease'.*' on ' ]]
    [[ $b != *waiting* ]] # others than itself
    c=$(request twice c 0 shared)
    [ "$ROWLOCK_TEST_ENGINE" = mariadb ] || [[ $c == *', 1 waiting' ]]
    [ "$(cut -d'|' -f3 <<<"$c")" = 2 ]
    [ "$(request twice b 100 | cut -d'|' -f$several)" = "$(cut -d'|' -f$several <<<"$b")" ]
    [ "$(request twice c 100 shared | cut -d'|' -f$several)" = "$(cut -d'|' -f$several <<<"$c")" ]
    [ "$(count waiter)" = 2 ]
    if [ "$ROWLOCK_TEST_ENGINE" = mariadb ]; then
        run say "CALL rowlock_request('twice', 600000, 'the owner called b', 0, 'exclusive', NULL,
                 NULL, NULL, NULL, NULL, @token, @ticket, @place, @holder, @pause_ms);
                 SELECT CONCAT_WS('|', COALESCE(@token, ''), @ticket, @place, LEFT(@holder, 7),
                                  @@in_transaction)"
        [ "$output" = "$(cut -d'|' -f1-3 <<<"$b")|a lease|0" ]
    fi
    [ "$(cancel twice b)$(cancel twice b)$(cancel other c)" = 100 ]
    rowlock release twice --token "${token%|||}"
    [[ $(request twice c 0 shared) =~ ^[0-9]+'|||'$ ]]
    [ "$(cancel twice c)" = 1 ]
    is_free twice
    [ "$(count lease)$(count waiter)" = 00 ]
}

@test "ls, the views and the history show a request like every other waiter and holder" {
    rowlock schema set history all
    token=$(request shown a 0 exclusive web1 41 a.py first)
    waits() { request shown b 0 exclusive web2 42 b.py second; } # for 7 s more
    waits
    show='$[0].host $[0].pid $[0].command $[0].note'
    [ "$(for path in $show; do item shown "$path"; done | paste -sd' ')" = "web1 41 a.py first" ]
    waits
    [ "$(for path in ${show//\[0]/[1]}; do item shown "$path"; done | paste -sd' ')" = \
        "web2 42 b.py second" ]
    waits
    [ "$(item shown '$[1].state')" = waiting ]
    waits
    [ "$(sql "SELECT concat_ws('|', name, host, pid, program, place) FROM ${ours}waiters")" = \
        "shown|web2|42|b.py|1" ]
    [ "$(cancel shown b)" = 1 ]
    rowlock release shown --token "${token%|||}"
    [ "$(sql "SELECT concat(host, ' ', how) FROM ${ours}history WHERE name = 'shown'
              ORDER BY host")" = $'web1 released\nweb2 gave up' ]
    rowlock schema set history slow
}

@test "the next visit and vacuum delete the roll calls of waiters that are gone" {
    [ "$ROWLOCK_TEST_ENGINE" != postgresql ] || return 0 # there they are columns of the ticket
    sql "INSERT INTO ${ours}roll_caller (ticket, behind, due) VALUES (1, 1, $now)"
    enqueue rolled
    request rolled a
    request rolled a
    [ "$(count roll_caller)" = 1 ]
    vacuum
    [ "$(count roll_caller)" = 1 ]
    sql "DELETE FROM ${ours}waiter"
    vacuum
    [ "$(count roll_caller)" = 0 ]
}

@test "a client that does not wait inside the server learns how long it may pause" {
    [ "$(pause paused 0)" = 0 ] # it has the lease
    pauses=(200 200 300 400)
    for place in 1 2 3 4; do
        [ "$(pause paused w$place)" = "${pauses[place - 1]}" ]
        [ "$(cancel paused w$place)" = 1 ]
        enqueue paused $place
    done
}

milliseconds() { date +%s%3N; }

@test "a request that does not wait waits a moment for the name lock, as every try does" {
    request brief 0
    request brief 1
    [ "$(cancel brief 0)" = 1 ]
    hold brief # else only the short time between two transactions would be left to it
    for _ in 1 2 3; do
        since=$(milliseconds)
        [[ $(request brief 1) == '|'* ]]
        [ $(($(milliseconds) - since)) -ge 240 ]
    done
    let_go
    until_true eval '[[ $(request brief 1) =~ ^[0-9]+[|] ]]'
}

@test "a renewal that comes too late names the caller that broke the lease" {
    token=$(request broken a)
    USER=ann SUDO_USER='' LOGNAME='' rowlock break broken --now
    run renew "${token%|||}"
    [[ $output == *"the lease ${token%|||} was broken by ann on $(hostname) (pid "*')'* ]]
    token=$(request ended b)
    expire
    vacuum
    run renew "${token%|||}"
    [[ $output == *"the lease ${token%|||} has expired"[:$'\n']* ]]
    sql "DELETE FROM ${ours}history"
    run renew "${token%|||}"
    [[ $output == *"the lease ${token%|||} has expired, or was broken or released"* ]]
}

one_waits() { # for the end of a lease
    [ "$(db "SELECT count(*) FROM pg_stat_activity
              WHERE datname = current_database() AND wait_event = 'advisory'")" = 1 ]
}

@test "p1 a lease is found although its name has moved" {
    move_names
    for names in back "back front"; do # one name and several are granted by different functions
        # shellcheck disable=SC2086
        token=$(rowlock acquire -n --ttl 10m $names)
        for words in "run -n" "run -n --shared" "run --tx -n"; do
            # shellcheck disable=SC2086
            run -75 rowlock $words back -- true
        done
        [ -z "$(acquire back)" ]
        rowlock release back --token "$token"
    done
}
