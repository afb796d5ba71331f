#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# docs/sql.md, sql-jobs.md and sql-mariadb.md document the signature of every public function and
# view, and of no other; and each program shown there and in docs/sql-programs.md is the file.
# Runs on: postgresql/native mariadb/row

load ../command/lib

PAGES=$(echo "$BATS_TEST_DIRNAME"/../../docs/sql{,-jobs,-mariadb,-programs}.md)
SNIPPETS=$BATS_TEST_DIRNAME/../../examples/sql

signatures() { # the server's signatures of all functions whose comment does not say internal
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        sql "SELECT format('rowlock.%s(%s) RETURNS %s', p.proname,
                           regexp_replace(pg_get_function_arguments(p.oid), '::[a-z ]+', '', 'g'),
                           pg_get_function_result(p.oid))
               FROM pg_proc p
              WHERE p.pronamespace = 'rowlock'::regnamespace
                AND obj_description(p.oid, 'pg_proc') NOT LIKE 'internal:%'"
        sql "SELECT format('rowlock.%s(%s)', c.relname, string_agg(a.attname, ', '
             ORDER BY a.attnum))
               FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
              WHERE c.relnamespace = 'rowlock'::regnamespace AND c.relkind = 'v'
                AND obj_description(c.oid, 'pg_class') <> ''
              GROUP BY c.relname"
        ;;
    mariadb)
        sql "SELECT CONCAT(r.routine_name, '(', COALESCE(
                        (SELECT GROUP_CONCAT(IF(p.parameter_mode = 'OUT', 'OUT ', ''),
                        p.parameter_name
                                             ORDER BY p.ordinal_position SEPARATOR ', ')
                           FROM information_schema.parameters p
                          WHERE p.specific_schema = r.routine_schema
                          AND p.specific_name = r.specific_name), ''), ')')
               FROM information_schema.routines r
              WHERE r.routine_schema = database() AND r.routine_comment <> ''"
        sql "SELECT CONCAT(c.table_name, '(', GROUP_CONCAT(c.column_name
             ORDER BY c.ordinal_position SEPARATOR ', '), ')')
               FROM information_schema.columns c
              WHERE c.table_schema = database() AND c.table_name IN
                    ('rowlock_holders', 'rowlock_waiters', 'rowlock_names', 'rowlock_jobs',
                    'rowlock_subjects')
              GROUP BY c.table_name"
        ;;
    esac
}

@test "the page has the signature of every public function, and of no other" {
    separator=.
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || separator=_
    signatures | sort >there
    page_signatures $PAGES |
        sed -nE "s/^    (rowlock[$separator][a-z_]+\([^()]*\)( RETURNS [a-z]+)?)\$/\1/p" |
            sort >documented
    diff documented there
    [ "$(wc -l <there)" -ge 15 ]
}

# FILE: the block after the line that names the file, without the line of the license.
block() {
    awk -v name="\`examples/sql/$1\`" '
        index($0, name) { seen = 1 }
        seen && /^```/ { if (inside) exit; inside = 1; next }
        inside' $PAGES
}
@test "every program of examples/sql is on a page, letter for letter" {
    for file in "$SNIPPETS"/*.*; do
        grep -v SPDX-License-Identifier "$file" >program
        block "$(basename "$file")" >shown
        diff "$file" <(sed -n '/SPDX-License-Identifier/p' "$file"; cat shown)
    done
    [ "$(cat $PAGES | grep -c '^`\{0,1\}examples/sql\|`examples/sql/')" -ge 10 ]
}
