#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The views for people have the same columns in the same order on every engine, except that
# PostgreSQL's key comes last. docs/sql.md and sql-mariadb.md list them.
# Runs on: once

load ../command/lib

PAGES=$(echo "$BATS_TEST_DIRNAME"/../../docs/sql{,-mariadb}.md)

columns() { # VIEW: its columns, in order
    case $ROWLOCK_TEST_ENGINE in
    sqlite) sql "SELECT group_concat(name, ', ') FROM (SELECT name
                 FROM pragma_table_info('rowlock_$1') ORDER BY cid)" ;;
    postgresql)
        sql "SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute
             WHERE attrelid = 'rowlock.$1'::regclass AND attnum > 0 AND NOT attisdropped"
        ;;
    mariadb)
        sql "SELECT group_concat(column_name ORDER BY ordinal_position SEPARATOR ', ')
             FROM information_schema.columns WHERE table_schema = database()
             AND table_name = 'rowlock_$1'"
        ;;
    esac
}
on() { # ENGINE COMMAND...
    local upper=${1^^}
    local url=ROWLOCK_TEST_$upper admin=ROWLOCK_TEST_${upper}_ADMIN
    ROWLOCK_TEST_ENGINE=$1 ROWLOCK_TEST_URL=${!url} ROWLOCK_TEST_ADMIN=${!admin:-} "${@:2}"
}
installed() { # ENGINE: it was built, and rowlock is installed now
    local url=ROWLOCK_TEST_${1^^}
    [ -n "${!url:-}" ] && "$ROWLOCK" --db "${!url}" schema install >/dev/null
}

@test "the columns of holders, waiters, names, jobs and subjects are the same on every engine" {
    engines=()
    for engine in sqlite postgresql mariadb; do
        ! installed $engine || engines+=("$engine")
    done
    [ ${#engines[@]} -gt 0 ]
    for view in holders waiters names jobs subjects; do
        wanted=$(page_signatures $PAGES | sed -n "s/^    rowlock_$view(\(.*\))\$/\1/p")
        [ -n "$wanted" ]
        for engine in "${engines[@]}"; do
            there=$(on "$engine" columns "$view")
            echo "$engine $view: $there"
            [ "${there%, key}" = "$wanted" ]
        done
        case $view in holders | waiters | names) wanted+=', key' ;; esac
        page_signatures $PAGES | grep -qFx "    rowlock.$view($wanted)"
    done
}
