#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# schema upgrade, from the schema that version 1 of it printed (tests/lib/schema_1).
# Runs on: sqlite postgresql mariadb
# Quick: postgresql/native

# shellcheck disable=SC2086 # lists of words
load lib
load roles

setup_file() {
    rowlock schema install # also the file of SQLite
    rowlock schema uninstall --force
}
teardown() {
    rowlock schema uninstall --force
    sql "DROP TABLE IF EXISTS rowlock_object"
    drop_old_role
}
# The text of version 1. MySQL 9.6 removed MD5(). On MariaDB 10.11.14 only an account with
# privileges on all databases can create its view, which selects columns of JSON_TABLE (MDEV-27898).
version_1() {
    local piece=$ROWLOCK_TEST_ENGINE-$ROWLOCK_TEST_TECHNIQUE edit=''
    [ "$ROWLOCK_TEST_ENGINE" != mariadb ] ||
        edit='s/(VIEW rowlock_transactions AS)(.*?JSON_TABLE.*?\)\) j);/$1 SELECT * FROM ($2) t;/s'
    ! is_mysql || piece=mysql-$ROWLOCK_TEST_TECHNIQUE
    ! is_mysql || edit='s/MD5\(DATABASE\(\)\)/LEFT(SHA2(DATABASE(), 256), 32)/g'
    zcat "$BATS_TEST_DIRNAME/../lib/schema_1/$piece.sql.gz" | perl -0pe "$edit"
}
# Not by root, whose procedures only an account with SYSTEM_USER may replace on MySQL.
as_rowlock_of_mariadb() {
    mariadb --no-defaults --socket="$ROWLOCK_TEST_MARIADB_SOCKET/socket" -u rowlock \
        --password="$password" "$@"
}
role() { echo "old_${ROWLOCK_TEST_URL##*_}"; }
drop_old_role() { # which few tests create
    case $ROWLOCK_TEST_ENGINE in
    postgresql) [ -z "$(sql "SELECT 1 FROM pg_roles WHERE rolname = '$(role)'")" ] ||
        drop_role "$(role)" ;;
    mariadb) sql "DROP USER IF EXISTS $(role)@'%'" ;;
    esac
}

# An account with the least privileges of version 1; sets old_url.
add_role() {
    create_role "$(role)"
    old_url=$(url_of_role "$(role)")
    version_1 >granting.sql
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        sed -n '/^-- The minimum that the role application needs/,/^COMMIT;$/{/^COMMIT;$/!p}' \
            granting.sql | sed "s/\bapplication\b/$(role)/g"
        ;;
    mariadb)
        sed -n "s/^\(GRANT .* TO \)application;/\1$(role)@'%';/p" granting.sql
        [ "$ROWLOCK_TEST_TECHNIQUE" != insert ] ||
            echo "GRANT SELECT, INSERT, DELETE ON rowlock_object TO $(role)@'%';"
        ;;
    esac | paste_in
}
old() { "$ROWLOCK" --db "$old_url" "$@"; }

# The rows of a farm: a counter, a lease, a job with a history, one without.
install_version_1() {
    version_1 >schema.sql
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
        as_rowlock_of_mariadb "${ROWLOCK_TEST_URL##*/}" <tables.sql
        ;;
    esac
    sql "INSERT INTO ${ours}counter (name, last) VALUES ('kept', 7)"
    sql "INSERT INTO ${ours}job (name, version, schedule, due, last)
         VALUES ('mail', 3, 'every 1h', 9000000000000, 1000), ('new', 1, 'every 1h', 9000000000000,
         0)"
    add_run 101 done 2000
    add_run 102 done 3500
    add_run 103 failed 4000
    add_run 104 'timed out' 5000
    add_run 105 lost 6000
}
add_run() { # TOKEN OUTCOME FINISHED
    sql "INSERT INTO ${ours}run (token, job, node, pid, due, repeats, started, taken_until,
                                finished, outcome)
         VALUES ($1, 'mail', 'node1', 1, 1000, 0, 1000, 0, $3, '$2')"
}
version() { sql "SELECT version FROM ${ours}meta"; }
counts() { # JOB
    sql "SELECT runs_done, runs_failed, runs_timed_out, runs_broken, runs_lost, runs_late,
                runs_not_started, last_success FROM ${ours}job WHERE name = '$1'" | tr '\t' '|'
}

@test "every verb refuses an older version, and names the upgrade, which keeps rows, counts runs" {
    local verb
    install_version_1
    for verb in "schema install" "run x -- true" jobs ls; do
        run -69 rowlock $verb
        [[ $output == *"the schema is version 1, this library needs 2"* ]]
        [[ $output == *"; run: rowlock schema upgrade"* ]]
    done
    [ "$(version)" = 1 ]
    run -0 --separate-stderr rowlock schema upgrade
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

@test "an interrupted upgrade is repeated: the version is written last" {
    [ "$ROWLOCK_TEST_ENGINE" = mariadb ] || return 0 # elsewhere it is one transaction
    install_version_1
    columns=(runs_done) # on MySQL an ALTER with several columns adds all of them, or none
    ! is_mysql || columns+=(runs_failed runs_timed_out runs_broken runs_lost runs_late
        runs_not_started last_success)
    for column in "${columns[@]}"; do
        sql "ALTER TABLE rowlock_job ADD COLUMN $column BIGINT NOT NULL DEFAULT 0"
    done
    sql "DROP PROCEDURE rowlock_finish_job"
    rowlock schema upgrade
    [ "$(version)" = 2 ]
    [ "$(counts mail)" = '2|1|1|0|1|0|0|3500' ]
    rowlock job fresh --every 1h -- true
}

@test "two nodes upgrade at once: one does, the other finds it done" {
    install_version_1
    start_rowlock schema upgrade
    rowlock schema upgrade
    wait "$started"
    [ "$(version)" = 2 ]
    [ "$(counts mail)" = '2|1|1|0|1|0|0|3500' ]
}

# Writes waiter, and runs the statement when the upgrade waits for that.
start_writer() { # STATEMENT
    start psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" -c "
        SET deadlock_timeout = '1min';
        SET application_name = 'writer';
        DO \$\$ BEGIN
            LOCK TABLE rowlock.waiter IN ROW EXCLUSIVE MODE;
            FOR i IN 1 .. 4000 LOOP
                IF EXISTS (SELECT FROM pg_locks WHERE relation = 'rowlock.waiter'::regclass
                                                  AND NOT granted) THEN
                    $1;
                    RETURN;
                END IF;
                PERFORM pg_sleep(0.005);
            END LOOP;
            RAISE 'the upgrade did not wait for waiter';
        END \$\$"
    until_true writer_has_begun
}
writer_has_begun() {
    [ "$(sql "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
               WHERE a.application_name = 'writer' AND l.relation = 'rowlock.waiter'::regclass")" \
        -ge 1 ]
}

@test "an upgrade that has a deadlock with a transaction tries again" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0 # the others' tables have no such order
    install_version_1
    start_writer "PERFORM FROM rowlock.job" # which the upgrade has locked
    rowlock schema upgrade
    [ "$(version)" = 2 ]
    wait "$started"
}

@test "an upgrade has committed its change of the leases when it waits for another table" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0 # elsewhere each statement commits
    install_version_1
    put_lease
    start_writer "SET LOCAL lock_timeout = '100ms'; PERFORM FROM rowlock.lease;
                  ASSERT rowlock.renew_lease(101, 60000) = 0"
    rowlock schema upgrade
    wait "$started"
    [ "$(version)" = 2 ]
    rowlock check held --token 101
}
put_lease() { # 101, of the name held
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        sql "INSERT INTO rowlock.heartbeat (token, expires) VALUES (101, now() + interval '1 day');
             INSERT INTO rowlock.lease (token, name, mode) VALUES (101, 'held', 'exclusive')"
        ;;
    mariadb)
        sql "INSERT INTO rowlock_heartbeat (token, expires)
             VALUES (101, utc_timestamp(6) + INTERVAL 1 DAY);
             INSERT INTO rowlock_lease (token, name, mode, owner, acquired)
             VALUES (101, 'held', 'exclusive', 'o', utc_timestamp(6))"
        ;;
    esac
}

# what a program does that was not restarted for the upgrade
uses_everything() { # NAME
    local token name=$1
    old run "$name" -- true
    old run "$name" "$name 2" -- true
    old run --shared "$name" -- true
    old run --limit 5 "$name permits" -- true
    old run --tx "$name" -- true
    token=$(rowlock acquire --ttl 1h "$name")
    run -75 old run -w 1.2 "$name" -- true
    start "$ROWLOCK" --db "$old_url" run -w 1h "$name" -- true
    until_true is_waited_for "$name"
    rowlock release "$name" --token "$token"
    wait "$started"
    token=$(old acquire --ttl 1h "$name")
    old break --now "$name"
    token=$(old acquire --ttl 1h "$name")
    expire "$token"
    old run "$name" -- true
    token=$(old acquire --ttl 1h "$name")
    expire "$token"
    old run --tx "$name" -- true
    old job "$name" --every 1h -- true
    old refresh "$name" --max-age 0 -- true
    old use "$name" -- true
    old next "$name"
    old ls
    old jobs
    old subjects
    old vacuum
}
expire() { # TOKEN
    case $ROWLOCK_TEST_ENGINE in
    postgresql) sql "SELECT rowlock.make_heartbeat($1);
                     UPDATE rowlock.heartbeat SET expires = now() - interval '1 min'
                      WHERE token = $1" ;;
    mariadb) sql "UPDATE rowlock_heartbeat SET expires = utc_timestamp(6) - INTERVAL 1 MINUTE
                   WHERE token = $1" ;;
    esac
}

@test "an account with the GRANTs of version 1 locks as before; history fails no grant" {
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] || return 0 # it has no accounts
    ! is_mysql || skip "MySQL's accounts need the GRANTs of version 2, as upgrade reports"
    install_version_1
    add_role
    rowlock schema upgrade
    # level slow is the default; on PostgreSQL the next test has it
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || uses_everything slow
    rowlock schema set history all
    uses_everything all
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    # as if the new rights had not been granted
    sql "REVOKE ALL ON rowlock.history, rowlock.setting FROM $(role)"
    uses_everything denied
}

@test "upgrade grants what is new to the roles that had the old tables" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    install_version_1
    sql 'REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA rowlock FROM PUBLIC'
    add_role
    sql 'ALTER DEFAULT PRIVILEGES FOR ROLE tester REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC'
    rowlock schema upgrade
    sql 'ALTER DEFAULT PRIVILEGES FOR ROLE tester GRANT EXECUTE ON FUNCTIONS TO PUBLIC'
    old doctor --only privileges
    uses_everything hardened
}

renews() { # a statement of version 1, as its programs send it
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        [ "$(sql "SET lock_timeout = '20s'; SELECT rowlock.renew_lease(101, 60000)")" = 0 ]
        ;;
    mariadb) [ "$(sql "SET lock_wait_timeout = 20, innodb_lock_wait_timeout = 20;
                       CALL rowlock_renew_lease(101, 60000, 'held', NULL)")" = 0 ] ;;
    esac
}

@test "an upgrade does not wait for long behind a fence, and leases are renewed meanwhile" {
    local upgrade renewals=0
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] || return 0 # a file has one writer
    install_version_1
    put_lease
    start_fence held 101
    start_rowlock schema upgrade
    upgrade=$started
    until is_gone "$upgrade"; do
        renews
        renewals=$((renewals + 1))
        sleep 1 # it gives up after about 30 s
    done
    [ $renewals -gt 1 ]
    ends_with 75 "$upgrade"
    [ "$(version)" = 1 ]
    grep -q "could not upgrade the schema: transactions that use its tables are open; end them" err
    renews
    start_rowlock schema upgrade
    end_fence
    wait "$started"
    [ "$(version)" = 2 ]
    rowlock ls held
}

@test "an upgrade does not wait for sessions that have read the queue, as every waiter has" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    install_version_1
    open_client
    in_client 'BEGIN; SELECT count(*) FROM rowlock.waiter'
    rowlock schema upgrade
    [ "$(version)" = 2 ]
    close_client
}

put_leases() { # of several names, and of permits
    sql "INSERT INTO rowlock.heartbeat (token, expires)
             SELECT t, now() + interval '1 day' FROM generate_series(201, 202) t;
         INSERT INTO rowlock.lease (token, name, mode)
             VALUES (201, 'a', 'exclusive'), (201, 'b', 'exclusive'), (201, 'c', 'exclusive');
         INSERT INTO rowlock.lease (token, name, n, mode, \"limit\")
             SELECT 202, name, n, 'permit', 3 FROM unnest(ARRAY['p', 'q']) name,
                                                   generate_series(1, 3) n"
}

@test "an upgrade keeps leases of several names, and of permits" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    install_version_1
    put_leases
    sql "CREATE PUBLICATION leases FOR TABLE rowlock.lease" # refuses a DELETE without an identity
    rowlock schema upgrade
    [ "$(sql "SELECT token, count(*) FROM rowlock.lease GROUP BY 1 ORDER BY 1")" = \
        $'201|3\n202|6' ]
    run -75 rowlock run -n q --limit 3 -- true
    rowlock release b --token 201
    rowlock release p --token 202
    sql "DROP PUBLICATION leases"
    [ "$(sql "SELECT count(*) FROM rowlock.lease")" = 0 ]
}

@test "p1 leases in a dump of version 1 exclude others after it was restored into a new schema" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    needs_pg_dump
    install_version_1
    put_leases
    pg_dump --data-only --table rowlock.heartbeat --table rowlock.lease "$ROWLOCK_TEST_ADMIN" >dump
    rowlock schema uninstall --force
    install_technique
    psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" -f dump
    for wanted in a b c "q --limit 3"; do
        run -75 rowlock acquire -n --ttl 1m $wanted
    done
}

@test "p1 leases in a dump of version 1 exclude others after it replaced the rows, and an upgrade" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    needs_pg_dump
    install_version_1
    put_leases
    pg_dump -Fc --data-only --schema rowlock "$ROWLOCK_TEST_ADMIN" >dump
    pg_restore -l dump |
        sed -n 's/.* TABLE DATA rowlock \([a-z]*\) .*/TRUNCATE rowlock.\1;/p' >empty
    for how in "" --disable-triggers; do
        rowlock schema uninstall --force
        install_technique
        sql "INSERT INTO rowlock.least_token SELECT n, nextval('rowlock.number')
             FROM unnest(ARRAY['a', 'b', 'c', 'q']) n"
        psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" -f empty
        pg_restore --data-only $how -d "$ROWLOCK_TEST_ADMIN" dump
        rowlock schema upgrade
        [ "$(sql "SELECT count(*) FROM pg_trigger WHERE tgname ~ '^(reveal|refuse)_'
                  AND tgenabled = 'A'")" = 3 ]
        for wanted in a b c "q --limit 3"; do
            run -75 rowlock acquire -n --ttl 1m $wanted
        done
    done
}

# A role with CREATE on the database makes a schema of version 1 that runs its code, if a superuser
# upgrades it.
make_trap() { # ROLE
    zcat "$BATS_TEST_DIRNAME/../lib/schema_1/postgresql-native.sql.gz" |
        sed '/^-- The minimum that the role application needs/,/^COMMIT;$/{/^COMMIT;$/!d}' >trap.sql
    cat >>trap.sql <<END
CREATE SEQUENCE public.$1; -- keeps its value when a transaction rolls back
CREATE FUNCTION rowlock.trap() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM nextval(''public.$1''); RETURN NEW; END';
CREATE TRIGGER trap BEFORE UPDATE ON rowlock.job FOR EACH ROW EXECUTE FUNCTION rowlock.trap();
INSERT INTO rowlock.job (name, version, schedule, due, last)
VALUES ('mail', 3, 'every 1h', 9000000000000, 1000);
INSERT INTO rowlock.run (token, job, node, pid, due, repeats, started, taken_until, finished,
                         outcome)
VALUES (1, 'mail', 'n', 1, 1, 0, 1, 0, 1, 'done');
END
    psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" -c "SET ROLE $1" -f trap.sql >trap.out
}
has_run() { sql "SELECT is_called FROM public.$1"; }

@test "an upgrade by a superuser runs no code of another role that owns the schema" {
    [ "$ROWLOCK_TEST_ENGINE-$ROWLOCK_TEST_TECHNIQUE" = postgresql-native ] || return 0
    local verb
    sql "CREATE ROLE $(role) LOGIN; GRANT CREATE ON DATABASE ${ROWLOCK_TEST_URL##*/} TO $(role);
         GRANT CREATE ON SCHEMA public TO $(role)"
    make_trap "$(role)"
    for verb in upgrade install; do
        run ! "$ROWLOCK" --db "$ROWLOCK_TEST_ADMIN" schema $verb
        [ "$(has_run "$(role)")" = f ]
        [ $verb = install ] ||
            [[ $output == *"the schema rowlock already exists and belongs to $(role)"* ]]
    done
    "$ROWLOCK" schema print postgresql --extension --from 1 | sed '/^\\echo/d' >extension.sql
    run psql -qX -1 -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" -f extension.sql
    [[ $output == *"the schema rowlock already exists and belongs to $(role)"* ]]
    [ "$(has_run "$(role)")" = f ]
    # a view called meta
    sql "SET ROLE $(role); DROP TABLE rowlock.meta CASCADE;
         CREATE FUNCTION rowlock.peek() RETURNS bigint LANGUAGE plpgsql AS
             'BEGIN RETURN nextval(''public.$(role)''); END';
         CREATE VIEW rowlock.meta AS SELECT rowlock.peek() AS version, 'native' AS technique,
             NULL::text AS object, NULL::integer AS id_width, false AS owned"
    for verb in upgrade install; do
        run ! "$ROWLOCK" --db "$ROWLOCK_TEST_ADMIN" schema $verb
        [ "$(has_run "$(role)")" = f ]
    done
    sql "DROP SCHEMA rowlock CASCADE"
}
