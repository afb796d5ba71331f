#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Servers that need a primary key in every table: a publication of all tables refuses an UPDATE or
# DELETE of a table without one (PostgreSQL), a setting its CREATE TABLE (MariaDB, MySQL).
# Runs on: postgresql/native mariadb/row
# Quick: first

load lib
load own_server.bash

setup_file() {
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        use_own -c wal_level=logical
        sql 'CREATE PUBLICATION everything FOR ALL TABLES'
        ;;
    mariadb)
        if is_mysql; then use_own --sql-require-primary-key=ON
        else use_own --innodb-force-primary-key=ON; fi
        run sql 'CREATE TABLE keyless (n INT) ENGINE = InnoDB'
        [ "$status" != 0 ]
        ;;
    esac
}

# PostgreSQL's lease has a replica identity instead (install.sql).
@test "every table of every dialect has a primary key" {
    run -64 "$ROWLOCK" schema print none
    dialects=${output#*there are }
    dialects=${dialects//,/}
    for dialect in ${dialects/ and / }; do
        "$ROWLOCK" schema print "$dialect" | awk '
            /CREATE TABLE/ { table = $3; has = 0; n++ }
            table && /PRIMARY KEY/ { has = 1 }
            table && /\)[^,]*;$/ { if (!has) without[table]; table = "" }
            /ALTER TABLE rowlock.lease REPLICA IDENTITY FULL;/ { delete without["rowlock.lease"] }
            END { print n " tables"; for (table in without) print table }' >tables
        cat tables
        [ "$(wc -l <tables)" = 1 ]
        [ "$(cut -d ' ' -f 1 tables)" -gt 10 ]
    done
    [ "$dialect" = db2 ]
}

techniques() { # that this server has
    case $ROWLOCK_TEST_ENGINE in
    postgresql) echo native insert ;;
    mariadb) if is_mysql; then echo row; else echo row insert; fi ;;
    esac
}
lock_and_write() { # TECHNIQUE
    rowlock schema install --technique "$1"
    rowlock schema set history problems
    rowlock schema set history all
    rowlock run --tx x -- true
    rowlock run x y -- true
    [ "$1" = insert ] || rowlock run p --limit 3 -- true
    token=$(rowlock acquire held --ttl 5m)
    rowlock renew held --token "$token" --ttl 6m
    run -75 rowlock run -w 1100ms held -- true # the history has waiters that gave up, too
    rowlock break held --now
    rowlock acquire held --ttl 1s
    rowlock run held -- true # after it has expired
    [ "$(rowlock next counter)$(rowlock next counter)" = 12 ]
    rowlock job mail --every 1h -- true
    rowlock jobs mail --forget
    rowlock refresh data --max-age 1h -- true
    rowlock expire data
    rowlock refresh data --max-age 1h -- true
    [ "$(rowlock log | wc -l)" -gt 5 ]
    rowlock vacuum
    rowlock schema uninstall --force
}

@test "all that locks and writes works where every table needs a primary key" {
    for technique in $(techniques); do lock_and_write "$technique"; done
}
