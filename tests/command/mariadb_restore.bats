#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Rows of an older dump are restored beside rows of today: what the tables say is held excludes
# others, and tokens rise.
# Runs on: mariadb
# Quick: first

load lib

dump() { # [OPTION...] TABLE...: of the database; its triggers and procedures are not in it
    "$(command -v mariadb-dump || echo mysqldump)" --no-defaults \
        --socket="$ROWLOCK_TEST_MARIADB_SOCKET/socket" -u root --skip-lock-tables "$@"
}
restore() { as_root_of_mariadb "$database" <"$1"; } # FILE
database=${ROWLOCK_TEST_URL##*/}

# Held while the dump is made: each kind of lease. Today a and b are free, c has another holder.
make_dumps() {
    old_a=$(rowlock acquire --ttl 8h a)
    rowlock acquire --ttl 8h --shared b >/dev/null
    rowlock acquire --ttl 8h --limit 1 p >/dev/null
    rowlock hold --for 8h --note restored c
    dump "$database" rowlock_name rowlock_lease rowlock_heartbeat >lease_tables
    dump --no-create-info --replace --complete-insert "$database" >all_rows
    dump --no-create-info --insert-ignore --complete-insert "$database" >ignored_all_rows
    dump --no-create-info --insert-ignore "$database" rowlock_name >ignored_names
    dump --no-create-info --replace "$database" rowlock_name >replaced_names
    sql "CREATE TABLE kept_lease AS SELECT * FROM rowlock_lease"
    sql "CREATE TABLE kept_heartbeat AS SELECT * FROM rowlock_heartbeat"
    sql "CREATE TABLE kept_name AS SELECT * FROM rowlock_name"
    for name in a b p c; do rowlock break --now "$name"; done
}
# Many grants of one name, by the library and by SQL: a limit for searches would rise.
use_names() {
    local name i
    for name in a b p c; do
        for i in {1..30}; do
            echo "CALL rowlock_grant(CONCAT(HEX('$name'), ':x:0:0'), 'an owner of $name $i', 60000,
                                     0, 0, 0, 'h', 1, 'c', NULL);
                  SELECT token INTO @token FROM rowlock_held WHERE name = '$name';
                  CALL rowlock_release_lease(@token, '$name', 'an owner of $name $i');"
        done
        rowlock run "$name" -- true
    done >grants.sql
    as_root_of_mariadb "$database" <grants.sql >/dev/null
}
teardown() {
    sql "DROP TABLE IF EXISTS kept_lease, kept_heartbeat, kept_name;
         DELETE FROM rowlock_heartbeat; DELETE FROM rowlock_lease;
         UPDATE rowlock_name SET held = 0"
    rowlock vacuum
}
names() { rowlock --json ls | jq -r '.[].name' | sort | tr '\n' ' '; }
excluded() { # by every way to a grant
    local words
    for words in "run -n a" "run -n --shared a" "run --tx -n a" "run -n a other" "run -n b" \
        "run --tx -n b" "run -n --limit 1 p" "run -n p"; do
        echo "$words"
        # shellcheck disable=SC2086
        run -75 rowlock $words -- true
    done
    run sql "CALL rowlock_acquire('a', 60000, 'exclusive', NULL, @token); SELECT @token"
    [ "$output" = NULL ]
    run sql "SET innodb_lock_wait_timeout = 1; CALL rowlock_begin_exclusive('a')"
    [[ $output == *"'a' is held by a lease"* ]]
}

@test "p1 a lease that a dump or a statement brings back excludes others, and tokens rise" {
    make_dumps
    for way in by_hand all_rows lease_tables; do
        echo "$way"
        use_names
        newest=$(rowlock acquire -n --ttl 8h c)
        case $way in
        by_hand)
            sql "INSERT INTO rowlock_heartbeat SELECT * FROM kept_heartbeat"
            sql "INSERT INTO rowlock_lease SELECT * FROM kept_lease WHERE name <> 'c'"
            sql "REPLACE INTO rowlock_name SELECT * FROM kept_name WHERE name <> 'c'"
            ;;
        *) restore "$way" ;;
        esac
        [ "$(names)" = "a b c p " ]
        excluded
        run -75 rowlock run -n c -- true
        another=$(rowlock acquire -n --ttl 1m another)
        [ "$another" -gt "$newest" ]
        rowlock release another --token "$another"
        for name in a b p c; do rowlock break --now "$name"; done
        for name in a b p c; do rowlock run -n "$name" -- true; done
    done
}

# A row of a name is one lease at most, so none is doubled. The row that is there counts.
@test "p1 a restore that ignores rows keeps today's leases, and adds those of names without a row" {
    make_dumps
    for way in ignored_names ignored_all_rows; do
        echo "$way"
        use_names
        newest=$(rowlock acquire -n --ttl 8h c)
        restore "$way"
        rowlock renew c --token "$newest"
        run -75 rowlock run -n c -- true
        run -123 rowlock renew a --token "$old_a"
        rowlock run -n a -- true
        rowlock doctor --only leases
        rowlock break --now c
        for name in b p; do rowlock break --now $name || true; done
        rowlock vacuum # of the rows of names
        restore "$way"
        case $way in
        ignored_names) [ "$(names)" = "a c " ] ;;
        *) [ "$(names)" = "a b c p " ] && excluded ;;
        esac
        rowlock renew a --token "$old_a"
        run -75 rowlock run -n a -- true
        run -75 rowlock run -n c -- true
        for name in a b p c; do rowlock break --now $name || true; done
        another=$(rowlock acquire -n --ttl 1m another)
        [ "$another" -gt "$newest" ]
        rowlock release another --token "$another"
    done
}

# The row of the dump counts, and its holder. That of today learns at its next renewal that the
# lease is lost.
@test "p1 a restore that replaces rows leaves one holder of each name" {
    make_dumps
    newest=$(rowlock acquire -n --ttl 8h c)
    restore replaced_names
    [ "$(names)" = "a c " ]
    run -123 rowlock renew c --token "$newest"
    run -75 rowlock run -n c -- true
    rowlock renew a --token "$old_a"
    run -75 rowlock run -n a -- true
    rowlock break --now c
    [ "$(rowlock acquire -n --ttl 1m c)" -gt "$newest" ]
}

# Only rows of rowlock_lease can be added beside a lease of a name.
@test "p1 a shared lease restored beside an exclusive one excludes others, and doctor sees it" {
    make_dumps
    rowlock acquire -n --ttl 8h b
    sql "INSERT IGNORE INTO rowlock_heartbeat SELECT * FROM kept_heartbeat"
    sql "INSERT IGNORE INTO rowlock_lease SELECT * FROM kept_lease WHERE name = 'b'"
    run -2 rowlock doctor --only leases
    [[ $output == *"'b' has leases that exclude each other"*"rowlock break NAME --token TOKEN"* ]]
    run -75 rowlock run -n b -- true
    run -75 rowlock run -n --shared b -- true
    rowlock break --now b
    rowlock doctor --only leases
    rowlock run -n b -- true
    # beside the free row of a name that only exclusive leases have had
    rowlock run d -- true
    rowlock run d -- true
    sql "INSERT INTO rowlock_lease (token, name, mode, owner, acquired)
         SELECT token, 'd', mode, owner, acquired FROM kept_lease WHERE name = 'b'"
    sql "INSERT IGNORE INTO rowlock_heartbeat SELECT * FROM kept_heartbeat"
    run -75 rowlock run -n d -- true
    run -75 rowlock run --tx -n d -- true
    rowlock run -n --shared d -- true
    rowlock break --now d
    rowlock run -n d -- true
}
