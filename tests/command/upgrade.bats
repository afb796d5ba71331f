#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# schema upgrade, from the schema that version 1 of it printed (tests/lib/schema_1).
# Runs on: sqlite postgresql mariadb
# Quick: first

bats_require_minimum_version 1.5.0
load lib

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    case $ROWLOCK_TEST_ENGINE in
    postgresql) own=rowlock. ;;
    *) own=rowlock_ ;;
    esac
    rowlock schema install # also the file of SQLite
    rowlock schema uninstall --force
}
teardown() {
    rowlock schema uninstall --force
    sql "DROP TABLE IF EXISTS rowlock_object"
}

# The rows of a farm: a counter, a lease, a job with a history, one without.
install_version_1() {
    local piece=$ROWLOCK_TEST_ENGINE-$ROWLOCK_TEST_TECHNIQUE
    zcat "$BATS_TEST_DIRNAME/../lib/schema_1/$piece.sql.gz" >schema.sql
    case $ROWLOCK_TEST_ENGINE in
    sqlite) sqlite3 "${ROWLOCK_TEST_URL#sqlite:}" <schema.sql ;;
    postgresql)
        # the owner is the only account: it needs no GRANT
        sed -i '/^-- The minimum that the role application needs/,/^COMMIT;$/{/^COMMIT;$/!d}' \
            schema.sql
        psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_URL" -f schema.sql >/dev/null
        ;;
    mariadb)
        sed '/^GRANT /d; /technique insert: its table$/,$d' schema.sql >tables.sql
        as_root_of_mariadb "${ROWLOCK_TEST_URL##*/}" <tables.sql
        ;;
    esac
    sql "INSERT INTO ${own}counter (name, last) VALUES ('kept', 7)"
    sql "INSERT INTO ${own}job (name, version, schedule, due, last)
         VALUES ('mail', 3, 'every 1h', 9000000000000, 1000), ('new', 1, 'every 1h', 9000000000000,
         0)"
    add_run 101 done 2000
    add_run 102 done 3500
    add_run 103 failed 4000
    add_run 104 'timed out' 5000
    add_run 105 lost 6000
}
add_run() { # TOKEN OUTCOME FINISHED
    sql "INSERT INTO ${own}run (token, job, node, pid, due, repeats, started, taken_until, finished,
                                outcome)
         VALUES ($1, 'mail', 'node1', 1, 1000, 0, 1000, 0, $3, '$2')"
}
version() { sql "SELECT version FROM ${own}meta"; }
counts() { # JOB
    sql "SELECT runs_done, runs_failed, runs_timed_out, runs_broken, runs_lost, runs_late,
                runs_not_started, last_success FROM ${own}job WHERE name = '$1'" | tr '\t' '|'
}

@test "upgrade keeps the rows, and counts the runs that the history has" {
    install_version_1
    [ "$(version)" = 1 ]
    run --separate-stderr rowlock schema upgrade
    [ "$status" = 0 ]
    [[ $output == "rowlock is upgraded in "*"technique $ROWLOCK_TEST_TECHNIQUE"* ]]
    [ "$(version)" = 2 ]
    [ "$(counts mail)" = '2|1|1|0|1|0|0|3500' ]
    [ "$(counts new)" = '0|0|0|0|0|0|0|0' ]
    [ "$(rowlock next kept)" = 8 ]
    rowlock run x -- true
    rowlock job fresh --every 1h -- true
    [[ "$(counts fresh)" == '1|0|0|0|0|0|0|1'* ]]
    run rowlock schema upgrade
    [ "$output" = "the schema is current" ]
}

@test "an upgraded schema has the objects of a new one" {
    local missing
    install_version_1
    rowlock schema upgrade --json >answer
    [ "$(json '$.schema' <answer)" = upgraded ]
    run rowlock --json schema install
    [ "$(json '$.schema' <<<"$output")" = present ]
    columns >upgraded
    rowlock schema uninstall --force
    install_technique
    columns >installed
    diff installed upgraded
    [ "$(wc -l <installed)" -gt 50 ]
}
columns() { # tables and views with their columns, sorted
    case $ROWLOCK_TEST_ENGINE in
    sqlite) sql "SELECT m.type, m.name, p.name, p.type, p.\"notnull\", p.dflt_value
                   FROM sqlite_master m, pragma_table_info(m.name) p WHERE m.name LIKE 'rowlock%'
                  ORDER BY 2, 3;
                 SELECT type, name, sql FROM sqlite_master
                  WHERE type IN ('view', 'trigger') ORDER BY 2" ;;
    postgresql) sql "SELECT table_name, column_name, data_type, is_nullable, column_default
                       FROM information_schema.columns WHERE table_schema = 'rowlock'
                      ORDER BY 1, 2" ;;
    mariadb) sql "SELECT table_name, column_name, column_type, is_nullable, column_default
                    FROM information_schema.columns
                   WHERE table_schema = DATABASE() AND table_name LIKE 'rowlock%'
                   ORDER BY 1, 2" ;;
    esac
}

@test "install refuses an older version, as every other verb does, and names the upgrade" {
    local verb
    install_version_1
    for verb in "schema install" "run x -- true" jobs ls; do
        # shellcheck disable=SC2086
        run rowlock $verb
        echo "$output"
        [ "$status" = 69 ]
        [[ $output == *"the schema is version 1, this library needs 2"* ]]
        [[ $output == *"; run: rowlock schema upgrade"* ]]
    done
    [ "$(version)" = 1 ]
}

@test "an interrupted upgrade is repeated: the version is written last" {
    [ "$ROWLOCK_TEST_ENGINE" = mariadb ] || return 0 # elsewhere it is one transaction
    install_version_1
    sql "ALTER TABLE rowlock_job ADD COLUMN runs_done BIGINT NOT NULL DEFAULT 0"
    sql "DROP PROCEDURE rowlock_finish_job"
    rowlock schema upgrade
    [ "$(version)" = 2 ]
    [ "$(counts mail)" = '2|1|1|0|1|0|0|3500' ]
    rowlock job fresh --every 1h -- true
}

@test "two nodes upgrade at once: one does, the other finds it done" {
    install_version_1
    start "$ROWLOCK" --db "$ROWLOCK_TEST_URL" schema upgrade
    rowlock schema upgrade
    wait "$started"
    [ "$(version)" = 2 ]
    [ "$(counts mail)" = '2|1|1|0|1|0|0|3500' ]
}
