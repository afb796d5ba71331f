#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Runs every block of SQL in docs/sqlite.md in the real shell, against rowlock's leases and locks in
# the same file.
# Runs on: sqlite
# Quick: first

load ../command/lib.bash

PAGE=$BATS_TEST_DIRNAME/../../docs/sqlite.md
TOKEN_OF_PAGE=1795185924159000
BOND=BondBO:DK0015966592

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    sql "CREATE TABLE IF NOT EXISTS bond (isin TEXT PRIMARY KEY, price INTEGER);
         INSERT OR REPLACE INTO bond VALUES ('DK0015966592', 100);
         DELETE FROM rowlock_heartbeat; DELETE FROM rowlock_lease;
         DELETE FROM rowlock_waiter; DELETE FROM rowlock_counter"
}

# NAME [TOKEN]: prints the page's block that begins with this comment, with the page's token
# replaced
block() {
    sed -n "/^-- $1\$/,/^\`\`\`\$/p" "$PAGE" |
        sed "/^\`\`\`\$/d; s/$TOKEN_OF_PAGE/${2:-$TOKEN_OF_PAGE}/"
}
do_block() { # NAME [TOKEN]
    block "$@" >"block.sql"
    [ -s block.sql ] || { echo "no block: $1"; return 99; }
    sqlite3 -batch -noheader -cmd '.timeout 10000' "${ROWLOCK_TEST_URL#sqlite:}" <block.sql
}
refused() { # WORDS NAME [TOKEN]: the block fails with these words, and changes nothing
    local words=$1
    shift
    run do_block "$@"
    [ "$status" != 0 ]
    [ "$status" != 99 ]
    [[ $output == *"$words"* ]]
    [ "$(price)" = 100 ]
}
price() { sql "SELECT price FROM bond"; }
acquire() { # NAME OPTION...: sets token
    local name=$1
    shift
    token=$(rowlock acquire --ttl 60s "$@" "$name")
}

@test "each block of the page has a test in this file" {
    sed -n '/^```sql$/{n;p}' "$PAGE" >blocks
    [ "$(wc -l <blocks)" -ge 8 ]
    while read -r _ name; do
        grep -qE "(do_block|refused \"[^\"]*\") ('$name'|$name)( |\$|\))" "$BATS_TEST_FILENAME" ||
            echo "$name"
    done <blocks >undone
    cat undone
    [ ! -s undone ]
}

@test "see: holders, waiters, names, jobs and subjects" {
    acquire import --note 'ask Ann'
    start_waiter import
    waiting=$started
    rowlock job --every 1h nightly -- true
    rowlock refresh report --max-age 1h -- true
    rowlock next invoice
    run do_block see
    kill -s TERM "$waiting"
    echo "$output"
    [ "$status" = 0 ]
    [[ $output == *"import|exclusive|$token|"*"|ask Ann|"*"|0|1"* ]]
    [[ $output == *"import|1|exclusive|"*"|$waiting|"* ]]
    for line in 'import|1' 'counter:invoice|0' 'job:nightly|0' 'subject:report|0'; do \
        [[ $'\n'$output == *$'\n'"$line"* ]]; done
    [[ $output == *"nightly|done|20"* ]]
    [[ $output == *"report|COMPLETE|20"* ]]
}

@test "see: expired and ended leases are not shown, stopping ones are" {
    do_block acquire >token
    [ "$(sql 'SELECT count(*) FROM rowlock_holders')" = 1 ]
    rowlock break import
    [ "$(sql 'SELECT broken FROM rowlock_holders')" = 1 ]
    sql "UPDATE rowlock_heartbeat SET expires = expires - 120000"
    [ "$(sql 'SELECT count(*) FROM rowlock_holders')" = 0 ]
}

@test "p1 lock: refused while rowlock has a lease on the name, done otherwise" {
    acquire "$BOND"
    refused "the name is leased" lock
    rowlock release "$BOND" --token "$token"
    do_block lock
    [ "$(price)" = 101 ]
}

@test "p1 lock: a shared or another name's lease, permits, an expired lease" {
    acquire other
    do_block lock
    [ "$(price)" = 101 ]
    sql "UPDATE bond SET price = 100"
    acquire "$BOND" -s
    refused "the name is leased" lock
    block lock | sed s/rowlock_exclusive/rowlock_shared/ >shared.sql
    sqlite3 -batch "${ROWLOCK_TEST_URL#sqlite:}" <shared.sql
    [ "$(price)" = 101 ]
    sql "UPDATE bond SET price = 100"
    rowlock break --now "$BOND"
    acquire "$BOND" --limit 2
    refused "the name is leased" lock
    run ! sqlite3 -batch "${ROWLOCK_TEST_URL#sqlite:}" <shared.sql
    sql "UPDATE rowlock_heartbeat SET expires = expires - 120000"
    do_block lock
    [ "$(price)" = 101 ]
    [ "$(sql "SELECT count(*) FROM rowlock_lease WHERE name = '$BOND'")" = 0 ]
}

end_session() { # STATEMENTS: the last ones of the client; none of its statements has failed
    echo "$1;" >&8
    close_client
    cat answers
    [ "$(wc -l <answers)" = 1 ]
}

@test "p1 lock: its transaction excludes those of rowlock" {
    open_client
    in_client "BEGIN IMMEDIATE; INSERT INTO rowlock_exclusive (name) VALUES ('counter:invoice')"
    run rowlock next -w 1 invoice
    one=$status
    start_rowlock next invoice
    next=$started
    end_session "UPDATE bond SET price = (SELECT count(*) FROM rowlock_counter); COMMIT"
    wait "$next"
    echo "$one $output"
    [ "$one" = 75 ]
    [ "$(price)" = 0 ]
    [ "$(sql "SELECT last FROM rowlock_counter")" = 1 ]
}

@test "lock: a transaction that has read old data is refused" {
    run sqlite3 -batch "${ROWLOCK_TEST_URL#sqlite:}" <<SQL
.bail on
BEGIN;
SELECT price FROM bond;
.shell sqlite3 "${ROWLOCK_TEST_URL#sqlite:}" "UPDATE bond SET price = 105"
INSERT INTO rowlock_exclusive (name) VALUES ('$BOND');
UPDATE bond SET price = 0;
COMMIT;
SQL
    echo "$output"
    [ "$status" != 0 ]
    [[ $output == *locked* ]]
    [ "$(price)" = 105 ]
}

@test "lock: an invalid name, and a row that another program left" {
    run sql "BEGIN IMMEDIATE; INSERT INTO rowlock_exclusive (name) VALUES ('')"
    [[ $output == *"of 1 to 255 bytes"* ]]
    run sql "BEGIN IMMEDIATE; INSERT INTO rowlock_exclusive (name) VALUES (NULL)"
    [[ $output == *"of 1 to 255 bytes"* ]]
    if [ "$ROWLOCK_TEST_TECHNIQUE" = insert ]; then
        sql "INSERT INTO rowlock_object (uuid, id, locked_ts) VALUES ('u', '$BOND', '2026-01-01')"
        refused "a committed row holds the name" lock
        sql "DELETE FROM rowlock_object"
    fi
    do_block lock
}

@test "p1 lock, acquire: a BLOB of the same bytes, as some drivers bind them, is refused" {
    acquire a
    for each in "rowlock_exclusive (name) VALUES (x'61')" \
        "rowlock_acquire (name, ttl_ms) VALUES (x'61', 60000)"; do
        run ! sqlite3 -batch "${ROWLOCK_TEST_URL#sqlite:}" "INSERT INTO $each"
        [[ $output == *"a name must be text"* ]]
    done
    [ "$(sql 'SELECT count(*) FROM rowlock_lease')" = 1 ]
}

@test "p4 lock beneath a lease, and fence: only with the token of a live lease" {
    acquire import
    do_block 'lock beneath a lease' "$token"
    do_block fence "$token"
    [ "$(price)" = 101 ]
    sql "UPDATE bond SET price = 100"
    refused "the name is leased" 'lock beneath a lease' NULL
    refused "no longer" 'lock beneath a lease' 7
    refused "no longer" fence 7
    rowlock release import --token "$token"
    refused "no longer" 'lock beneath a lease' "$token"
    refused "no longer" fence "$token"
}

@test "p4 fence: no other session ends the lease before COMMIT" {
    acquire import
    open_client
    in_client "BEGIN IMMEDIATE; INSERT INTO rowlock_fence (name, token) VALUES ('import', $token)"
    start_rowlock break --now import
    breaker=$started
    end_session "UPDATE bond SET price = (SELECT count(*) FROM rowlock_lease
        WHERE token = $token); COMMIT"
    wait "$breaker"
    [ "$(price)" = 1 ]
    is_free import
}

@test "next: the numbers of rowlock next; refused while the counter is leased" {
    [ "$(rowlock next invoice)" = 1 ]
    [ "$(do_block next)" = 2 ]
    [ "$(rowlock next invoice)" = 3 ]
    acquire counter:invoice
    refused "the name is leased" next
    rowlock release counter:invoice --token "$token"
    [ "$(do_block next)" = 4 ]
}

@test "p1 acquire, renew, release: a lease like any other" {
    own=$(do_block acquire)
    [ "$own" -gt 1000000000000000 ]
    run -75 rowlock run -n import -- true
    [[ $output == *db1*"by hand"* ]]
    refused "the name is leased" acquire
    rowlock check import --token "$own"
    sql "UPDATE rowlock_heartbeat SET expires = expires - 50000"
    [ "$(do_block renew "$own")" = renewed ]
    [ "$(sql "SELECT expires - now > 50000 FROM rowlock_heartbeat, rowlock_clock")" = 1 ]
    [ "$(do_block release "$own")" = released ]
    [ "$(do_block release "$own")" = "" ]
    [ "$(do_block renew "$own")" = "" ]
    rowlock run -n import -- true
    acquire import
    [ "$token" -gt "$own" ]
    rowlock break import
    [ "$(do_block renew "$token")" = "" ]
}

@test "p1 acquire: refused while rowlock holds the name, in any mode, or waits for it" {
    for option in '' -s '--limit 2'; do
        # shellcheck disable=SC2086
        acquire import $option
        refused "the name is leased" acquire
        rowlock release import --token "$token"
    done
    acquire import
    start_waiter import -w 60
    kill -s STOP "$started"
    # it counts as alive for a while, and no client holds the name any more
    sql "UPDATE rowlock_waiter SET alive_until = alive_until + 60000;
         DELETE FROM rowlock_heartbeat; DELETE FROM rowlock_lease"
    refused "other sessions wait for the name" acquire
    sql "UPDATE rowlock_waiter SET alive_until = 0"
    own=$(do_block acquire)
    rowlock check import --token "$own"
}

@test "acquire: shared, permits, and invalid arguments" {
    by_hand() { sql "BEGIN IMMEDIATE; INSERT INTO rowlock_acquire (name, ttl_ms, mode, \"limit\")
                     VALUES ($1); COMMIT"; }
    by_hand "'s', 60000, 'shared', NULL"
    by_hand "'s', 60000, 'shared', NULL"
    rowlock run -n -s s -- true
    run -75 rowlock run -n s -- true
    by_hand "'p', 60000, NULL, 2"
    rowlock run -n --limit 2 p -- true
    by_hand "'p', 60000, 'permit', 2"
    run by_hand "'p', 60000, NULL, 2"
    [[ $output == *"is leased"* ]]
    run by_hand "'p', 60000, NULL, 3"
    [[ $output == *"another limit"* ]]
    for wrong in "'', 60000, NULL, NULL" "'a', NULL, NULL, NULL" "'a', 999, NULL, NULL" \
        "'a', 60000, 'permit', NULL" \
        "'a', 60000, 'shared', 2" "'a', 60000, NULL, 0" "'a', '1m', NULL, NULL" \
            "NULL, 60000, NULL, NULL"; do
        run by_hand "$wrong"
        echo "$wrong: $output"
        [ "$status" != 0 ]
    done
    [ "$(sql "SELECT count(*) FROM rowlock_lease WHERE name NOT IN ('s', 'p')")" = 0 ]
}

@test "p3 tokens rise, by hand and by rowlock, concurrently" {
    for i in 1 2 3 4 5 6; do
        start sh -c 'for i in 1 2 3 4 5; do
            sqlite3 -batch -cmd ".timeout 60000" "$1" "BEGIN IMMEDIATE;
                INSERT INTO rowlock_acquire (name, ttl_ms) VALUES ('"'n$i'"' || $i, 60000);
                SELECT last FROM rowlock_number; COMMIT" >>tokens; done' sh \
                    "${ROWLOCK_TEST_URL#sqlite:}"
    done
    for pid in "${all_started[@]}"; do wait "$pid"; done
    [ "$(sort -u tokens | wc -l)" = 30 ]
    [ "$(sql 'SELECT count(DISTINCT token) FROM rowlock_holders')" = 30 ]
}

@test "uninstall removes the views" {
    cp "${ROWLOCK_TEST_URL#sqlite:}" copy.db
    "$ROWLOCK" --db sqlite:copy.db schema uninstall --force
    [ "$(sqlite3 copy.db "SELECT count(*) FROM sqlite_master WHERE name LIKE 'rowlock%'")" = 0 ]
}
