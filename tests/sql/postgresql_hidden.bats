#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Rows of rowlock's tables that PostgreSQL hides, changes or adds: by row level security, rules,
# inheritance, and triggers that a session does not fire. No session decides on rows that it cannot
# see.
# Runs on: postgresql/native postgresql/insert

load lib
load ../command/doctor.bash
load ../command/roles

role=hidden_${ROWLOCK_TEST_URL##*_}
setup_file() { :; }
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    create_role "$role"
}
teardown() {
    end_started # a waiter could keep the schema from being uninstalled
    sql "DROP EVENT TRIGGER IF EXISTS switch_on; DROP FUNCTION IF EXISTS switch_on"
    for table in $(tables); do sql "ALTER TABLE $table NO FORCE ROW LEVEL SECURITY"; done
    rowlock schema uninstall --force || true
    drop_role "$role"
}
install_for_role() {
    install_technique
    print_grants "$role" | paste_in
}
as_role() { "$ROWLOCK" --db "$(url_of_role "$role")" "$@"; }
tables() { # every table of rowlock, that of technique insert too
    sql "SELECT oid::regclass FROM pg_class WHERE relkind = 'r'
            AND (relnamespace = to_regnamespace('rowlock') OR relname = 'rowlock_object')"
}
switch_on_each() { # TAG SETTING...: an event trigger does so to each table
    sql "CREATE FUNCTION switch_on() RETURNS event_trigger LANGUAGE plpgsql AS \$\$
         DECLARE made record;
         BEGIN
             IF pg_catalog.pg_trigger_depth() > 0 OR current_setting('test.on', true) = 'yes' THEN
                 RETURN;
             END IF;
             PERFORM set_config('test.on', 'yes', true);
             FOR made IN SELECT object_identity FROM pg_event_trigger_ddl_commands()
                          WHERE object_type = 'table' LOOP
                 EXECUTE format('ALTER TABLE %s ${*:2}', made.object_identity);
             END LOOP;
             PERFORM set_config('test.on', 'no', true);
         END \$\$;
         CREATE EVENT TRIGGER switch_on ON ddl_command_end WHEN TAG IN ($1)
             EXECUTE FUNCTION switch_on()"
}
hides_nothing() {
    [ "$(sql "SELECT count(*) FROM pg_class WHERE relrowsecurity OR relforcerowsecurity")" = 0 ]
}
sees_the_lease() { # of x
    run -75 as_role run --tx -n x -- touch ran
    run -75 as_role run -n x -- touch ran
    [ ! -e ran ]
    as_role ls | grep -q '^x  *held'
    finds ok tables '*' --db "$(url_of_role "$role")"
}

@test "p1_an event trigger switches row level security on: install switches it off" {
    switch_on_each "'CREATE TABLE'" ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY
    install_for_role
    hides_nothing
    rowlock acquire --ttl 1h x
    sees_the_lease
}

@test "p1_an event trigger switches it on after ALTER TABLE too: install refuses" {
    switch_on_each "'CREATE TABLE', 'ALTER TABLE'" ENABLE ROW LEVEL SECURITY
    runs 64 install_technique
    [[ $output == *'is on again directly after it was switched off'*'event trigger'* ]] ||
        [[ $output == *'it has row level security; run: ALTER TABLE '* ]] # the table of insert
    [ "$(sql "SELECT to_regclass('rowlock.lease') IS NULL")" = t ]
}

# As the role, with row level security on one table: each command fails and runs nothing.
refused_as_role() { # TABLE COMMAND...
    sql "ALTER TABLE $1 ENABLE ROW LEVEL SECURITY"
    runs 69 --separate-stderr as_role "${@:2}"
    [[ $stderr == *"row level security could hide rows of "*"$1 from $role; run as its owner: "* ]]
    [ -z "$output" ] && [ ! -e ran ]
    sql "ALTER TABLE $1 DISABLE ROW LEVEL SECURITY"
}

@test "p1_row level security on one table, for each verb that decides by its rows" {
    install_for_role
    token=$(rowlock acquire --ttl 1h x)
    rowlock renew x --token "$token"
    rowlock refresh --max-age 1h s -- true
    rowlock next c
    rowlock job --every 1h j -- true
    refused_as_role rowlock.meta run --tx -n x -- touch ran
    refused_as_role rowlock.lease run --tx -n x -- touch ran
    refused_as_role rowlock.lease run -n x -- touch ran
    refused_as_role rowlock.lease run --limit 2 -n x -- touch ran
    refused_as_role rowlock.lease renew x --token "$token"
    refused_as_role rowlock.lease ls
    refused_as_role rowlock.lease ls x
    refused_as_role rowlock.lease check x --token "$token"
    refused_as_role rowlock.lease release x --token "$token"
    refused_as_role rowlock.counter next c
    refused_as_role rowlock.job job --every 1h j -- touch ran
    refused_as_role rowlock.job jobs
    refused_as_role rowlock.run jobs j
    refused_as_role rowlock.subject refresh --max-age 1h s -- touch ran
    start_waiter
    refused_as_role rowlock.waiter ls
    sees_the_lease
}
start_waiter() {
    start_rowlock run x -- true
    until_true grep_waiter
}
grep_waiter() { rowlock ls | grep -q '^x  *waiting'; }

# It does not matter which rows the other policies permit or restrict.
@test "p1_SQL: no function is granted a name whose lease some policy may hide" {
    install_for_role
    token=$(rowlock acquire --ttl 1h x)
    sql "ALTER ROLE $role SET lock_timeout = '1s'"
    for policy in "CREATE POLICY p ON rowlock.lease USING (true)" \
        "CREATE POLICY p ON rowlock.lease USING (owner = current_user)" \
        "CREATE POLICY p ON rowlock.lease USING (true);
         CREATE POLICY q ON rowlock.lease AS RESTRICTIVE USING (host = 'none')" \
        "CREATE POLICY p ON rowlock.lease FOR SELECT USING (true)"; do
        sql "ALTER TABLE rowlock.lease ENABLE ROW LEVEL SECURITY; $policy"
        ROWLOCK_TEST_URL=$(url_of_role "$role") each_fails <<END
RL010 | SELECT rowlock.exclusive('x')
RL010 | SELECT rowlock.try_exclusive('x')
RL010 | SELECT rowlock.try_exclusive('x', '100ms')
RL010 | SELECT rowlock.acquire('x', '5s')
RL010 | SELECT rowlock.acquire('free', '5s')
RL010 | SELECT rowlock.request('x', '5s', 'me-0123456789abcdef')
RL010 | SELECT rowlock.renew($token, '5s')
RL010 | SELECT rowlock.release($token)
RL010 | SELECT rowlock.fence('x', $token)
RL010 | SELECT rowlock.exclusive('x', $token)
RL010 | SELECT count(*) FROM rowlock.lease
RL010 | DELETE FROM rowlock.lease
END
        sql "DROP POLICY p ON rowlock.lease; DROP POLICY IF EXISTS q ON rowlock.lease;
             ALTER TABLE rowlock.lease DISABLE ROW LEVEL SECURITY"
    done
    sees_the_lease
}

@test "p1_FORCE: the owner and the views; doctor names each table, and its advice mends it" {
    install_for_role
    rowlock acquire --ttl 1h x
    for table in $(tables); do
        sql "ALTER TABLE $table ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"
    done
    run -69 --separate-stderr rowlock ls
    [[ $stderr == *"hide rows of rowlock.meta from tester; run as its owner: ALTER TABLE "* ]]
    run -69 rowlock run --tx -n x -- touch ran
    fails_with RL010 "SELECT rowlock.try_exclusive('x')"
    fails_with RL010 "SELECT * FROM rowlock.holders"
    runs 69 rowlock schema install
    [[ $output == *'ALTER TABLE rowlock.meta DISABLE ROW LEVEL SECURITY, NO FORCE'* ]]
    finds FAIL schema '*could hide rows of rowlock.meta from *'
    finds FAIL tables '*row level security is on: *rowlock.lease, *rowlock.waiter  -> ALTER TABLE *'
    db "$(advice tables)"
    hides_nothing
    sees_the_lease
}

@test "p1_install switches it off again, and restores the policies" {
    install_for_role
    rowlock acquire --ttl 1h x
    sql "ALTER TABLE rowlock.lease ENABLE ROW LEVEL SECURITY; DROP POLICY rowlock ON rowlock.lease;
         ALTER TABLE rowlock.run ENABLE ROW LEVEL SECURITY"
    finds FAIL tables '*is on: rowlock.lease, rowlock.run; *would hide rows*: rowlock.lease  -> *'
    rowlock schema install
    hides_nothing
    sees_the_lease
    sql "ALTER TABLE rowlock.lease ENABLE ROW LEVEL SECURITY"
    run -69 as_role run --tx -n x -- touch ran
}

@test "doctor: rules, triggers, inheritance and unlogged tables; its advice mends each" {
    install_technique
    sql "CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql
         AS \$\$ BEGIN RETURN NULL; END \$\$"
    for change in "CREATE RULE r AS ON INSERT TO rowlock.waiter DO INSTEAD NOTHING" \
        "CREATE TABLE child () INHERITS (rowlock.waiter)" \
        "ALTER TABLE rowlock.waiter SET UNLOGGED" \
        "CREATE TRIGGER t BEFORE INSERT ON rowlock.waiter FOR EACH ROW
         EXECUTE FUNCTION odd()"; do
        sql "$change"
        echo "$change"
        finds FAIL tables "*: rowlock.waiter*  -> *;"
        sql "$(advice tables)"
        finds ok tables '*nothing hides, changes or adds rows'
    done
    sql "DROP TABLE child; DROP FUNCTION odd"
}

@test "p1_every trigger of rowlock acts under session_replication_role = replica" {
    install_for_role
    [ "$(sql "SELECT count(*) FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
               WHERE p.pronamespace = 'rowlock'::regnamespace AND t.tgenabled <> 'A'")" = 0 ]
    finds ok schema '*'
    for table in $(tables); do sql "ALTER TABLE $table ENABLE TRIGGER ALL"; done
    finds FAIL schema '*trigger see_foreign*-> rowlock schema install*'
    rowlock schema install
    finds ok schema '*'
}

@test "p1_insert: the two statements wait for a lease under session_replication_role = replica" {
    [ "$ROWLOCK_TEST_TECHNIQUE" = insert ] || return 0
    install_technique
    rowlock acquire --ttl 1h x
    run psql -qXAt -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" -c "SET lock_timeout = '100ms';
        SET session_replication_role = replica;
        INSERT INTO rowlock_object (uuid, id, locked_ts) VALUES ('1', 'x', now())"
    [ "$status" != 0 ] && [[ $output == *'"x" is held by a lease'* ]]
}

@test "a try that lacks a privilege has granted nothing, and its message says no more than that" {
    install_for_role
    sql "REVOKE ALL ON rowlock.lease FROM $role"
    runs 69 --separate-stderr as_role run -n x -- touch ran
    [[ $stderr == *"permission denied for table lease"* && $stderr != *"have been granted"* ]]
    [ ! -e ran ]
}
