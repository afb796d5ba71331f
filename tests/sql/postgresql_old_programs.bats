#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Technique insert: unmodified programs that know only INSERT and DELETE wait for leases. Their
# table has the article's DDL and existed before rowlock; they have rights on that table alone.
# Runs on: postgresql/insert
# Quick: never

load lib

schema='Locks of "old" programs'
path="\"${schema//\"/\"\"}\""
old_role=old_${ROWLOCK_TEST_URL##*_}
old_url=postgresql://$old_role@${ROWLOCK_TEST_URL#*@}
owner=owner_${ROWLOCK_TEST_URL##*_}
setup_file() {
    sql "CREATE ROLE $old_role LOGIN" >/dev/null
    sql "CREATE ROLE $owner" >/dev/null
    psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" <<SQL
CREATE SCHEMA $path AUTHORIZATION $owner;
SET ROLE $owner;
CREATE TABLE $path.businessobjectlock (
    uuid VARCHAR(32) NOT NULL, id VARCHAR(100) NOT NULL, locked_ts TIMESTAMP NOT NULL,
    PRIMARY KEY (uuid), UNIQUE (id)
);
GRANT USAGE ON SCHEMA $path TO tester, $old_role;
GRANT SELECT, INSERT, UPDATE, DELETE, TRIGGER ON $path.businessobjectlock TO tester;
GRANT SELECT, INSERT, DELETE ON $path.businessobjectlock TO $old_role;
RESET ROLE;
GRANT $owner TO tester; -- for a trigger that acts in every session
DO \$\$ BEGIN
    EXECUTE format('ALTER ROLE tester IN DATABASE %I SET search_path = %L',
                   current_database(), '$schema');
    EXECUTE format('ALTER ROLE $old_role IN DATABASE %I SET search_path = %L',
                   current_database(), '$schema');
END \$\$;
SQL
    install
}
teardown_file() {
    rowlock schema uninstall --force
    sql "DROP SCHEMA $path CASCADE; DROP OWNED BY $old_role; DROP ROLE $old_role;
         DROP ROLE $owner" >/dev/null
    sql "ALTER ROLE tester IN DATABASE ${ROWLOCK_TEST_URL##*/} RESET search_path"
}
teardown() {
    close_sessions
    end_sessions
    sql "DROP SCHEMA IF EXISTS own CASCADE; DELETE FROM rowlock.lease" >/dev/null
}
install() { rowlock schema install --technique insert --table businessobjectlock; }

old() { # STATEMENT...: as the old program
    ROWLOCK_TEST_URL=$old_url db "$@"
}
old_fails() { ROWLOCK_TEST_URL=$old_url fails_with "$@"; } # SQLSTATE STATEMENT...
insert="INSERT INTO businessobjectlock (uuid, id, locked_ts)
        VALUES (md5(random()::text), 'x', now())"
delete="DELETE FROM businessobjectlock WHERE id = 'x'"

@test "an old program waits for a lease, while it holds the key, until the lease is released" {
    token=$(rowlock hold --for 5m --note 'ask Ann' x)
    open_session a "$old_url"
    ask a BEGIN "$insert" "$delete" "SELECT 'locked'"
    until_true asleep
    run ! said a locked
    run -75 rowlock run --tx -n x -- true
    rowlock renew x --token "$token" --ttl 5m # the waiting program does not block a renewal either
    rowlock release x --token "$token"
    answer a '^locked$'
    run -75 rowlock run -n x -- true
    in_session a COMMIT
    rowlock run -w 20 x -- true
    rowlock run -w 20 --tx x -- true
    [ "$(old "SELECT count(*) FROM businessobjectlock")" = 0 ]
}

@test "lock_timeout and statement_timeout end its wait, name the holder, and leave the key free" {
    token=$(rowlock hold --for 5m --note 'ask Ann' x)
    old_fails 55P03 "SET lock_timeout = '1s'" "SET statement_timeout = '20s'" "BEGIN" "$insert" \
        "$delete" "COMMIT"
    [[ $output == *'"x" is held by a lease'*'ask Ann'* ]]
    old_fails 57014 "SET statement_timeout = '1s'" "BEGIN" "$insert" "$delete" "COMMIT"
    old_fails 55P03 "$insert" # in autocommit mode: no row is left
    [ "$(old "SELECT count(*) FROM businessobjectlock")" = 0 ]
    rowlock release x --token "$token"
    old "BEGIN" "$insert" "$delete" "COMMIT"
}

@test "it also waits for shared leases and permits; not for other names and expired leases" {
    for options in "'5 min', 'shared'" "'5 min', 'permit', 3"; do
        token=$(db "SELECT rowlock.acquire('x', $options)")
        old_fails 55P03 "SET lock_timeout = '1s'" "$insert"
        db "SELECT rowlock.release($token)"
    done
    db "SELECT rowlock.acquire('X', '5 min')" "SELECT rowlock.acquire('x ', '5 min')"
    expired=$(db "SELECT rowlock.acquire('x', '1 s')")
    until_true is_free x
    old "SET lock_timeout = '20s'" "BEGIN" "$insert" "$delete" "COMMIT"
    [ "$(db "SELECT count(*) FROM rowlock.lease WHERE token = $expired")" = 0 ]
}

@test "two old programs and rowlock exclude each other as before" {
    open_session a "$old_url"
    open_session b "$old_url"
    in_session a BEGIN "$insert" "$delete"
    ask b BEGIN "$insert" "SELECT 'locked'"
    until_true somebody_waits
    run ! said b locked
    run -75 rowlock run -n x -- true
    ask a "COMMIT"
    answer b locked
    in_session b ROLLBACK
    rowlock run -n x -- true
}

@test "above READ COMMITTED its INSERT is refused: an earlier snapshot would not show the lease" {
    for level in 'REPEATABLE READ' SERIALIZABLE; do
        old_fails RL001 "BEGIN ISOLATION LEVEL $level" "$insert"
        [[ $output == *'READ COMMITTED'* ]]
    done
}

@test "rowlock itself writes no row, and a row without a uuid is locked too" {
    sql "CREATE TABLE public.seen (uuid text);
         CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
         'BEGIN INSERT INTO public.seen VALUES (NEW.uuid); RETURN NEW; END';
         CREATE TRIGGER note BEFORE INSERT
         ON $path.businessobjectlock FOR EACH ROW EXECUTE FUNCTION note();
         ALTER FUNCTION note() SET search_path = public"
    rowlock run --tx x -- true
    rowlock run x -- true
    db "SELECT rowlock.try_exclusive('x')"
    seen=$(sql "SELECT count(*) FROM public.seen")
    sql "DROP TRIGGER note ON $path.businessobjectlock; DROP FUNCTION note(); DROP TABLE seen"
    [ "$seen" = 0 ]
    token=$(rowlock hold --for 5m --note 'ask Ann' x)
    sql "ALTER TABLE $path.businessobjectlock DROP CONSTRAINT businessobjectlock_pkey;
         ALTER TABLE $path.businessobjectlock ALTER uuid DROP NOT NULL"
    old_fails 55P03 "SET lock_timeout = '1s'" \
        "INSERT INTO businessobjectlock VALUES (NULL, 'x', now())"
    rowlock release x --token "$token"
    sql "ALTER TABLE $path.businessobjectlock ADD PRIMARY KEY (uuid)"
}

@test "no role can call the trigger's function, or any other function in the schema, directly" {
    old_fails 42501 "SELECT rowlock.lock_object()"
    old_fails 42501 "SELECT rowlock.exclusive('x')"
    token=$(rowlock hold --for 5m --note 'ask Ann' x)
    old_fails 55P03 "SET lock_timeout = '1s'" "SET search_path = pg_temp, public" \
        "CREATE TEMP TABLE lease (name text)" \
        "CREATE FUNCTION pg_temp.look(text, boolean) RETURNS integer LANGUAGE sql AS 'SELECT 0'" \
        "CREATE FUNCTION pg_temp.current_setting(text) RETURNS text LANGUAGE sql
         AS 'SELECT NULL::text'" \
        "INSERT INTO $path.businessobjectlock VALUES (md5('1'), 'x', now())"
    rowlock release x --token "$token"
}

@test "uninstall removes the trigger from another owner's table, and keeps the table" {
    triggers="SELECT count(*) FROM pg_trigger WHERE tgrelid = '$path.businessobjectlock'::regclass
              AND NOT tgisinternal"
    [ "$(sql "$triggers")" = 1 ]
    rowlock schema uninstall --force
    [ "$(sql "$triggers")" = 0 ]
    old "BEGIN" "$insert" "$delete" "COMMIT"
    install
    [ "$(sql "$triggers")" = 1 ]
}

@test "a table whose uuid column is too short is refused" {
    rowlock schema uninstall --force
    sql "ALTER TABLE $path.businessobjectlock ALTER uuid TYPE varchar(31)"
    run ! rowlock schema install --technique insert --table businessobjectlock
    [[ $output == *'column uuid'* ]]
    sql "ALTER TABLE $path.businessobjectlock ALTER uuid TYPE varchar(32)"
    install
}

@test "a schema whose name would end a string is refused" {
    rowlock schema uninstall --force
    # shellcheck disable=SC2016
    for name in "it's" 'a$$b'; do
        sql "CREATE SCHEMA \"$name\" AUTHORIZATION tester"
        url="$ROWLOCK_TEST_URL?options=-csearch_path%3D%22${name/\'/%27}%22"
        run -64 "$ROWLOCK" --db "$url" schema install --technique insert
        [[ $output == *"$name"* ]]
        sql "DROP SCHEMA \"$name\""
    done
    install
}

# SCHEMA: with a table of the old program's own, whose id becomes text by a function of its own
stranger() {
    echo "CREATE SCHEMA $1 AUTHORIZATION $old_role; SET ROLE $old_role;
        CREATE TYPE $1.kind AS ENUM ('a');
        CREATE FUNCTION $1.told($1.kind) RETURNS text LANGUAGE plpgsql AS
            \$\$ BEGIN RAISE EXCEPTION 'it ran as %', current_user USING ERRCODE = 'ZZ001';
            END \$\$;
        CREATE CAST ($1.kind AS text) WITH FUNCTION $1.told($1.kind) AS IMPLICIT;
        CREATE TABLE $1.t (uuid text, id $1.kind); RESET ROLE;"
}

@test "the trigger's function lends its rights to no user-defined type" {
    psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" <<SQL
$(stranger own)
CREATE TRIGGER t AFTER INSERT ON own.t FOR EACH ROW EXECUTE FUNCTION rowlock.lock_object();
SQL
    old_fails RL003 "INSERT INTO own.t VALUES ('x', 'a')"
}

@test "a role with the right to use rowlock cannot put the trigger on its own table" {
    rowlock schema print --technique insert --table businessobjectlock --role "$old_role" --grants |
        sed "s/public\.businessobjectlock/$path.businessobjectlock/" >grants
    psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" -f grants -c "$(stranger own)"
    old_fails 42501 "CREATE TRIGGER t AFTER INSERT
        ON own.t FOR EACH ROW EXECUTE FUNCTION rowlock.lock_object()"
    old "$insert" "$delete" # the trigger fires
    token=$(old "SELECT rowlock.acquire('x', '1 min')")
    [ "$(old "SELECT rowlock.release($token)")" = t ]
}
