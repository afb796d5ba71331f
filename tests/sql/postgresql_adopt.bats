#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Existing objects that install refuses to reuse, because they would run with the rights of every
# locking role: objects of another role, and a table that runs code.
# Runs on: postgresql/insert
# Quick: never

load lib

setup_file() { :; } # nothing is installed
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mallory=mallory_${ROWLOCK_TEST_URL##*_}
    sql "CREATE ROLE $mallory LOGIN; GRANT ALL ON SCHEMA public TO tester, $mallory"
}
teardown() {
    rowlock schema uninstall --force || true
    sql "DROP TABLE IF EXISTS child, own, rowlock_object CASCADE; DROP OWNED BY $mallory;
         DROP ROLE $mallory"
}
install() { rowlock schema install --technique insert "$@"; }
refuses() { # WORDS [OPTION...]: install fails with these words, and leaves nothing
    local words=$1
    shift
    run install "$@"
    [ "$status" = 64 ] && [[ $output == *"$words"* ]] &&
        [ "$(sql "SELECT to_regclass('rowlock.lease') IS NULL")" = t ]
}
table() { # ROLE NAME
    sql "SET ROLE $1; CREATE TABLE public.$2 (uuid varchar(32) NOT NULL PRIMARY KEY,
         id varchar(255) NOT NULL UNIQUE, locked_ts timestamp NOT NULL)"
}
trap_function="CREATE FUNCTION public.seize() RETURNS trigger LANGUAGE plpgsql
    AS \$\$ BEGIN RETURN NEW; END \$\$"

@test "p12_a table rowlock_object of another role is refused, with its owner; the advice helps" {
    table "$mallory" rowlock_object
    sql "SET ROLE $mallory; $trap_function; CREATE TRIGGER seize BEFORE INSERT
         ON public.rowlock_object EXECUTE FUNCTION public.seize()"
    refuses "rowlock_object, which belongs to $mallory, cannot be used"
    sql "ALTER TABLE public.rowlock_object OWNER TO tester"
    refuses "it has the trigger seize; run: DROP TRIGGER seize ON public.rowlock_object"
    sql "DROP TRIGGER seize ON public.rowlock_object"
    install
    rowlock run --tx -n x -- true
}

@test "p12_a trigger with the name of one of rowlock's, and code of another role, is refused" {
    install
    sql "GRANT USAGE ON SCHEMA rowlock TO $mallory; GRANT TRIGGER ON rowlock.lease TO $mallory;
         GRANT EXECUTE ON FUNCTION rowlock.see_foreign() TO $mallory;
         DROP TRIGGER see_foreign ON rowlock.lease; DROP VIEW rowlock.names CASCADE;
         SET ROLE $mallory;
         CREATE FUNCTION public.evil(bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true';
         CREATE TRIGGER see_foreign BEFORE INSERT ON rowlock.lease FOR EACH ROW
             WHEN (public.evil(NEW.token)) EXECUTE FUNCTION rowlock.see_foreign()"
    run -64 install
    [[ $output == *'a trigger see_foreign is on rowlock.lease'* ]]
    sql "DROP TRIGGER see_foreign ON rowlock.lease"
    install
}

runs_code() { # CHANGE TABLE [OPTION...]: with this change the table is refused
    sql "SET ROLE $mallory;
         CREATE FUNCTION public.evil() RETURNS text IMMUTABLE LANGUAGE sql
         AS 'SELECT ''x''::text';
         CREATE DOMAIN public.evil_type AS text CHECK (VALUE = public.evil())"
    sql "$1"
    echo "$1"
    refuses "$2, which belongs to tester, cannot be used" "${@:3}"
    sql "DROP TABLE IF EXISTS public.child; DROP TABLE public.$2 CASCADE;
         DROP DOMAIN public.evil_type; DROP FUNCTION public.evil()"
}

@test "p12_a table that runs code is refused, chosen by --table or not" {
    for change in "CREATE RULE r AS ON INSERT TO public.rowlock_object DO ALSO NOTHING" \
        "ALTER TABLE public.rowlock_object ENABLE ROW LEVEL SECURITY" \
        "CREATE POLICY p ON public.rowlock_object" \
        "GRANT TRIGGER ON public.rowlock_object TO $mallory" \
        "CREATE TABLE public.child () INHERITS (public.rowlock_object)" \
        "CREATE TABLE public.child (id varchar(255) REFERENCES public.rowlock_object (id)
         ON DELETE CASCADE)" \
        "ALTER TABLE public.rowlock_object ADD more text DEFAULT public.evil()" \
        "ALTER TABLE public.rowlock_object ADD CHECK (public.evil() = 'x')" \
        "CREATE INDEX ON public.rowlock_object ((public.evil()))" \
        "ALTER TABLE public.rowlock_object ADD more text
         GENERATED ALWAYS AS (public.evil()) STORED" \
        "ALTER TABLE public.rowlock_object ADD more public.evil_type"; do
        table tester rowlock_object
        runs_code "$change" rowlock_object
    done
    table tester own
    runs_code "CREATE POLICY p ON public.own" own --table own
    sql "SET ROLE $mallory; CREATE VIEW public.rowlock_object AS
         SELECT ''::text AS uuid, ''::text AS id, now() AS locked_ts"
    refuses "cannot be used: it is not a plain table"
    sql "DROP VIEW public.rowlock_object"
}

@test "the server's own defaults and indexes are accepted" {
    table tester own
    sql "ALTER TABLE public.own ALTER locked_ts SET DEFAULT now(); CREATE INDEX
         ON public.own (lower(id))"
    install --table own
    rowlock run --tx -n x -- true
}

@test "p12_a schema rowlock of another role, or in which others may create, is refused" {
    sql "CREATE SCHEMA rowlock AUTHORIZATION $mallory"
    refuses "the schema rowlock already exists and belongs to $mallory"
    sql "DROP SCHEMA rowlock; CREATE SCHEMA rowlock AUTHORIZATION tester;
         GRANT CREATE ON SCHEMA rowlock TO $mallory"
    refuses "REVOKE CREATE ON SCHEMA rowlock FROM $mallory"
    sql "SET ROLE $mallory; CREATE FUNCTION rowlock.look(name varchar,
         shared boolean) RETURNS integer LANGUAGE sql AS 'SELECT 0'"
    refuses "belongs to $mallory"
    sql "DROP FUNCTION rowlock.look(varchar, boolean); REVOKE CREATE ON SCHEMA rowlock
         FROM $mallory"
    install
    rowlock run --tx -n x -- true
}

@test "p1_a rule or inheritance on one of rowlock's own tables is refused" {
    install
    sql "CREATE RULE r AS ON INSERT TO rowlock.lease DO INSTEAD NOTHING;
         DROP VIEW rowlock.names CASCADE"
    run -64 install
    [[ $output == *'rowlock.lease cannot be used: it has the rule r; run: DROP RULE r ON'* ]]
    sql "DROP RULE r ON rowlock.lease; CREATE TABLE public.child () INHERITS (rowlock.lease)"
    run -64 install
    [[ $output == *'rowlock.lease cannot be used: it shares rows with '*'child; run: ALTER '* ]]
    sql "DROP TABLE public.child"
    install
}

@test "a table of a role that is not the installing one's: the advice helps" {
    table "$mallory" own
    sql "GRANT ALL ON public.own TO tester"
    refuses "only its owner can make a trigger act in every session; run: GRANT $mallory TO" \
        --table own
    sql "GRANT $mallory TO tester"
    install --table own
}
