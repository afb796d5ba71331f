#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# schema upgrade, from this version to the next one, which is made for tests alone (tests/next).
# Runs on: sqlite postgresql mariadb
# Quick: postgresql/native

# shellcheck disable=SC2086 # lists of words
load lib
load roles

now=$ROWLOCK next=${ROWLOCK%/*}/next/rowlock
upgrade() { "$next" --db "$ROWLOCK_TEST_URL" schema upgrade "$@"; }

setup_file() { :; }
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    ROWLOCK=$now
    install_technique
    rowlock next --start 7 kept
}
teardown() {
    end_started
    ROWLOCK=$next
    rowlock schema uninstall --force
    sql "DROP TABLE IF EXISTS rowlock_object"
    drop_old_role
}
role() { echo "old_${ROWLOCK_TEST_URL##*_}"; }
drop_old_role() { # which few tests create
    case $ROWLOCK_TEST_ENGINE in
    postgresql) [ -z "$(sql "SELECT 1 FROM pg_roles WHERE rolname = '$(role)'")" ] ||
        drop_role "$(role)" ;;
    mariadb) sql "DROP USER IF EXISTS $(role)@'%'" ;;
    esac
}
version() { sql "SELECT version FROM ${ours}meta"; }
began() { sql "SELECT began FROM ${ours}counter WHERE name = '$1'"; } # COUNTER
is_next() { [ "$(version)" = 2 ] && [ "$(began kept)" = 7 ]; }

@test "schema verbs of either program accept the other's version, and change nothing; rows stay" {
    ROWLOCK=$next
    run -0 rowlock schema install
    [[ $output == *"is installed already in "*"version 1, and this program's is 2: it works"* ]]
    [[ $output == *"run: rowlock schema upgrade"* ]]
    [ "$(rowlock --json schema install | json '$.schema')" = present ]
    run rowlock doctor --only schema
    [[ $output == *"version 1, technique $ROWLOCK_TEST_TECHNIQUE; this rowlock has version 2"* ]]
    [ "$(version)" = 1 ]
    run -0 --separate-stderr rowlock schema upgrade
    [[ $output == "rowlock is upgraded in "*"technique $ROWLOCK_TEST_TECHNIQUE"* ]]
    is_next
    [ "$(rowlock next kept)" = 8 ]
    is_next
    [ "$(rowlock next --start 5 fresh)" = 5 ]
    [ "$(began fresh)" = 5 ]
    run -0 rowlock schema upgrade
    [ "$output" = "the schema is current" ]
    rowlock doctor --only schema
    ROWLOCK=$now
    run -0 rowlock schema install
    [[ $output == *"is installed already in "*"version 2, and this program's is 1: it works"* ]]
    run -0 rowlock schema upgrade
    [ "$output" = "the schema is current, and newer than this program's" ]
    run rowlock doctor --only schema
    [[ $output == *"version 2"*"this rowlock has version 1"*"update rowlock on this node"* ]]
    is_next
    run -69 rowlock schema uninstall
    [[ $output == *"version 2, newer than this library's 1: only a newer rowlock uninstalls it"* ]]
}

@test "a program refuses a version further away, names both, and the command that works" {
    local verb verbs=("schema install" "run x -- true" jobs ls "next kept")
    sql "UPDATE ${ours}meta SET version = -1"
    for verb in "${verbs[@]}"; do
        run -69 rowlock $verb
        [[ $output == *"is version -1, older than this library's 1, which works with 1 to 2"* ]]
        [[ $output == *"; run: rowlock schema upgrade"* ]]
    done
    sql "UPDATE ${ours}meta SET version = 3"
    for verb in "${verbs[@]}" "schema upgrade"; do
        run -69 rowlock $verb
        [[ $output == *"version 3, newer than this library's 1, which works with 1 to 2; up"* ]]
    done
    "$next" --db "$ROWLOCK_TEST_URL" run x -- true
    sql "UPDATE ${ours}meta SET version = 1"
}

@test "an upgraded schema has the objects of a new one" {
    upgrade --json >answer
    [ "$(json '$.schema' <answer)" = upgraded ]
    ROWLOCK=$next
    run rowlock --json schema install
    [ "$(json '$.schema' <<<"$output")" = present ]
    objects | sort >upgraded
    rowlock schema uninstall --force
    install_technique
    objects | sort >installed
    diff installed upgraded
    [ "$(grep -c began installed)" -ge 1 ]
    [ "$(wc -l <installed)" -gt 50 ]
}
objects() { # tables and views with their columns, and functions, sorted
    case $ROWLOCK_TEST_ENGINE in
    sqlite) sql "SELECT m.type, m.name, p.name, p.type, p.\"notnull\", p.dflt_value
                   FROM sqlite_master m, pragma_table_info(m.name) p WHERE m.name LIKE 'rowlock%'
                  ORDER BY 2, 3;
                 SELECT type, name, sql FROM sqlite_master
                  WHERE type IN ('view', 'trigger') ORDER BY 2" ;;
    postgresql) sql "SELECT table_name, column_name, data_type, is_nullable, column_default
                       FROM information_schema.columns WHERE table_schema = 'rowlock'
                      ORDER BY 1, 2;
                     SELECT oid::regprocedure, md5(prosrc), proacl FROM pg_proc
                      WHERE pronamespace = 'rowlock'::regnamespace ORDER BY 1;
                     SELECT tablename, policyname FROM pg_policies WHERE schemaname = 'rowlock'
                      ORDER BY 1, 2" ;;
    mariadb) sql "SELECT table_name, column_name, column_type, is_nullable, column_default
                    FROM information_schema.columns
                   WHERE table_schema = DATABASE() AND table_name LIKE 'rowlock%'
                   ORDER BY 1, 2;
                  SELECT routine_name, sha2(routine_definition, 256)
                    FROM information_schema.routines WHERE routine_schema = DATABASE()
                   ORDER BY 1" ;;
    esac
}

@test "p1 holders and waiters of the older program stay, and hand over on the new schema" {
    local waiter
    keep_places held
    hold_by run held
    start_waiter held
    waiter=$started
    upgrade
    ROWLOCK=$next
    run -75 rowlock run -n held -- true
    is_waited_for held
    let_go
    ends_with 0 "$waiter"
    is_free held
}

@test "p1 leases of several names, shared ones and permits stay, and so do their tokens" {
    local three permits shared name
    three=$(rowlock acquire --ttl 1d a b c)
    permits=$(rowlock acquire --ttl 1d --limit 3 p)
    shared=$(rowlock acquire --ttl 1d --shared s)
    # which refuses a DELETE without an identity
    [ "$ROWLOCK_TEST_ENGINE" != postgresql ] ||
        sql "CREATE PUBLICATION leases FOR TABLE rowlock.lease"
    upgrade
    ROWLOCK=$next
    for name in a b c p s; do run -75 rowlock run -n $name -- true; done
    rowlock run -n p --limit 3 -- true
    rowlock run -n s --shared -- true
    rowlock check b --token "$three"
    rowlock renew b --token "$three"
    rowlock release b --token "$three"
    rowlock release p --token "$permits"
    rowlock release s --token "$shared"
    for name in a b c p s; do is_free $name; done
    [ "$(rowlock acquire --ttl 1d a)" -gt "$shared" ]
    [ "$ROWLOCK_TEST_ENGINE" != postgresql ] || sql "DROP PUBLICATION leases"
}

@test "an interrupted upgrade is repeated: the version is written last" {
    [ "$ROWLOCK_TEST_ENGINE" = mariadb ] || return 0 # elsewhere it is one transaction
    sql "ALTER TABLE rowlock_lease ADD COLUMN grade INTEGER DEFAULT 0 NOT NULL;
         ALTER TABLE rowlock_counter ADD COLUMN began BIGINT DEFAULT 0 NOT NULL;
         DROP PROCEDURE rowlock_finish_job"
    upgrade
    is_next
    ROWLOCK=$next
    rowlock job fresh --every 50w -- true
}

@test "an upgrade that is killed at the second table leaves a schema that works, and is repeated" {
    local upgrade
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] || return 0 # it is one transaction
    open_client
    in_client "BEGIN; SELECT * FROM ${ours}counter"
    start "$next" --db "$ROWLOCK_TEST_URL" schema upgrade
    upgrade=$started
    until_done_by "$upgrade" has_grades
    kill -s KILL "$upgrade"
    close_client
    [ "$(version)" = 1 ]
    [ "$(rowlock next kept)" = 8 ]
    rowlock run -w 20 x -- true
    upgrade
    [ "$(version)" = 2 ]
    [ "$(began kept)" = 8 ]
}
has_grades() { sql "SELECT grade FROM ${ours}lease WHERE 1 = 0" 2>/dev/null; }

@test "two nodes upgrade at once: one does, the other finds it done" {
    start "$next" --db "$ROWLOCK_TEST_URL" schema upgrade
    upgrade
    wait "$started"
    is_next
}

# Locks waiter as VACUUM does, and runs the statement when the upgrade waits for that.
start_writer() { # STATEMENT
    start psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" -c "
        SET deadlock_timeout = '1min';
        SET application_name = 'writer';
        DO \$\$ BEGIN
            LOCK TABLE rowlock.waiter IN SHARE UPDATE EXCLUSIVE MODE;
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
    until_done_by "$started" writer_has_begun
}
writer_has_begun() {
    [ "$(sql "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
               WHERE a.application_name = 'writer' AND l.relation = 'rowlock.waiter'::regclass")" \
        -ge 1 ]
}

@test "an upgrade that has a deadlock with a transaction tries again" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0 # the others' tables have no such order
    start_writer "PERFORM FROM rowlock.counter" # which the upgrade has locked
    upgrade
    is_next
    wait "$started"
}

@test "an upgrade has committed its change of the leases when it waits for another table" {
    local token
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0 # elsewhere each statement commits
    token=$(rowlock acquire --ttl 1d held)
    start_writer "SET LOCAL lock_timeout = '100ms'; PERFORM grade FROM rowlock.lease;
                  ASSERT rowlock.renew_lease($token, 60000) = 0"
    upgrade
    wait "$started"
    is_next
    ROWLOCK=$next
    rowlock check held --token "$token"
}

# what an account does by the new program
old() { "$next" --db "$old_url" "$@"; }
uses_everything() { # NAME
    local token name=$1
    old run "$name" -- true
    old run "$name" "$name 2" -- true
    [ "$ROWLOCK_TEST_TECHNIQUE" = insert ] || old run --shared "$name" -- true
    old run --limit 5 "$name permits" -- true
    old run --tx "$name" -- true
    token=$(rowlock acquire --ttl 1h "$name")
    run -75 old run -w 1.2 "$name" -- true
    start "$next" --db "$old_url" run -w 1h "$name" -- true
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
    old job "$name" --every 50w -- true
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
    postgresql) sql "UPDATE rowlock.lease SET expires = now() - interval '1 min'
                      WHERE token = $1" ;;
    mariadb) sql "UPDATE rowlock_name SET expires = utc_timestamp(6) - INTERVAL 1 MINUTE
                   WHERE token = $1;
                  UPDATE rowlock_heartbeat SET expires = utc_timestamp(6) - INTERVAL 1 MINUTE
                   WHERE token = $1" ;;
    esac
}

@test "an account keeps its rights; doctor names those on what is new, and a grant gives them" {
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] || return 0 # it has no accounts
    create_role "$(role)"
    old_url=$(url_of_role "$(role)")
    print_grants "$(role)" | paste_in
    upgrade
    ROWLOCK=$next
    # level slow is the default
    uses_everything slow
    rowlock schema set history all
    uses_everything all
    if ! is_mysql; then # whose account has all procedures of the database
        run -2 old doctor --only privileges
        [[ $output == *"lacks EXECUTE on "*"GRANT EXECUTE ON "* ]]
    fi
    print_grants "$(role)" | paste_in
    old doctor --only privileges
}

renews() { # TOKEN: a statement of the older version, as its programs send it
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        [ "$(sql "SET lock_timeout = '20s'; SELECT rowlock.renew_lease($1, 60000)")" = 0 ]
        ;;
    mariadb) [ "$(sql "SET lock_wait_timeout = 20, innodb_lock_wait_timeout = 20;
                       CALL rowlock_renew_lease($1, 60000, 'held', NULL)")" = 0 ] ;;
    esac
}

@test "an upgrade does not wait for long behind a fence, and leases are renewed meanwhile" {
    local upgrade renewals=0 token shared=
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] || return 0 # a file has one writer
    [ "$ROWLOCK_TEST_TECHNIQUE" != row ] || shared=-s # a row of the table that changes
    token=$(rowlock acquire $shared --ttl 1d held)
    start_fence held "$token"
    start "$next" --db "$ROWLOCK_TEST_URL" schema upgrade
    upgrade=$started
    until is_gone "$upgrade"; do
        renews "$token"
        renewals=$((renewals + 1))
        sleep 1 # it gives up after about 30 s
    done
    [ $renewals -gt 1 ]
    ends_with 75 "$upgrade"
    [ "$(version)" = 1 ]
    grep -q "could not upgrade the schema: transactions that use its tables are open; end them" err
    renews "$token"
    start "$next" --db "$ROWLOCK_TEST_URL" schema upgrade
    end_fence
    wait "$started"
    is_next
    ROWLOCK=$next
    rowlock ls held
}

@test "an upgrade does not wait for sessions that change tables which it does not change" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    open_client
    in_client 'BEGIN; SELECT count(*) FROM rowlock.waiter;
               LOCK TABLE rowlock.waiter, rowlock.job, rowlock.run, rowlock.history,
                          rowlock.subject, rowlock.expiry IN ROW EXCLUSIVE MODE'
    upgrade
    is_next
    close_client
}

@test "p1 leases in an older dump exclude others after it was restored into a new schema" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    needs_pg_dump
    local wanted
    rowlock acquire --ttl 1d a b c
    rowlock acquire --ttl 1d --limit 1 q
    pg_dump --data-only --table rowlock.lease "$ROWLOCK_TEST_ADMIN" >dump
    rowlock schema uninstall --force
    ROWLOCK=$next
    install_technique
    psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" -f dump
    for wanted in a b c "q --limit 1"; do
        run -75 rowlock acquire -n --ttl 1m $wanted
    done
}

# A role with CREATE on the database makes a schema that runs its code, if a superuser upgrades it.
make_trap() { # ROLE
    "$now" schema print postgresql >printed.sql
    sed '/^-- GRANTs/,/^-- end of GRANTs$/d' printed.sql >trap.sql
    cat >>trap.sql <<END
CREATE SEQUENCE public.$1; -- keeps its value when a transaction rolls back
CREATE FUNCTION rowlock.trap() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM nextval(''public.$1''); RETURN NEW; END';
CREATE TRIGGER trap BEFORE UPDATE ON rowlock.counter
    FOR EACH ROW EXECUTE FUNCTION rowlock.trap();
INSERT INTO rowlock.counter (name, last) VALUES ('kept', 7);
END
    psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" -c "SET ROLE $1" -f trap.sql >trap.out
}
has_run() { sql "SELECT is_called FROM public.$1"; }

@test "an upgrade by a superuser runs no code of another role that owns the schema" {
    [ "$ROWLOCK_TEST_ENGINE-$ROWLOCK_TEST_TECHNIQUE" = postgresql-native ] || return 0
    local verb
    rowlock schema uninstall --force
    sql "CREATE ROLE $(role) LOGIN; GRANT CREATE ON DATABASE ${ROWLOCK_TEST_URL##*/} TO $(role);
         GRANT CREATE ON SCHEMA public TO $(role)"
    make_trap "$(role)"
    run ! "$next" --db "$ROWLOCK_TEST_ADMIN" schema upgrade
    [[ $output == *"the schema rowlock already exists and belongs to $(role)"* ]]
    [ "$(has_run "$(role)")" = f ]
    run "$next" --db "$ROWLOCK_TEST_ADMIN" schema install # which leaves an older one as it is
    [ "$(has_run "$(role)")" = f ]
    "$next" schema print postgresql --extension --from 1 | sed '/^\\echo/d' >extension.sql
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
        run ! "$next" --db "$ROWLOCK_TEST_ADMIN" schema $verb
        [ "$(has_run "$(role)")" = f ]
    done
    sql "DROP SCHEMA rowlock CASCADE"
}
