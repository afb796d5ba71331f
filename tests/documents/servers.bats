#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The document loader while its sessions are killed on the server.
# Runs on: postgresql mariadb
# Quick: postgresql/native

load lib

@test "a lost connection is replaced, the current document is repeated and counted once" {
    start_loader --generate 12000 --workers 3
    for n in 100 400 700 1000 1300; do
        await_rows "$n"
        end_sessions || true # one of them may have ended
    done
    ends_with 0 "$loader_pid"
    output=$(cat summary)
    [ "$(number connections-lost)" -ge 3 ]
    [ "$(number read)" = 12000 ]
    [ "$(number undone)" = 0 ]
    [ "$(number created)" = "$(rows)" ]
    run -0 loader --generate 12000 --workers 3 --verify # a session of its own, which is not killed
    [ "$(number older)" = 12000 ]
    [ "$(number differs)" = 0 ]
}

# The very first INSERT waits until another session waits for its lock, then fails like the victim
# of a deadlock.
fail_first_insert() {
    sql "CREATE SEQUENCE attempts;
         GRANT ALL ON SEQUENCE attempts TO PUBLIC;
         CREATE FUNCTION fail_first() RETURNS trigger LANGUAGE plpgsql AS \$\$
         BEGIN
             IF nextval('attempts') = 1 THEN
                 WHILE NOT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND (database IS NULL OR
                     database = (SELECT oid FROM pg_database
                                 WHERE datname = current_database()))) LOOP
                     PERFORM pg_sleep(0.01);
                 END LOOP;
                 RAISE EXCEPTION 'a victim' USING ERRCODE = '40P01';
             END IF;
             RETURN NEW;
         END \$\$;
         CREATE TRIGGER fail_first BEFORE INSERT ON document
             FOR EACH ROW EXECUTE FUNCTION fail_first();"
}
has_failed_once() { [ "$(sql 'SELECT is_called FROM attempts')" = t ]; }

@test "a document that was rolled back and then done by another worker is not counted twice" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0 # the example's own code is the same on all
    mkdir in
    put in/one A 2014-01-15T10:00:00Z
    loader --empty --generate 1 >/dev/null
    fail_first_insert
    start_loader --id id --time at in
    until_true has_failed_once
    run loader --id id --time at in
    sql "DROP TRIGGER fail_first ON document; DROP FUNCTION fail_first; DROP SEQUENCE attempts"
    wait "$loader_pid"
    echo "$output"
    cat summary messages
    [ $(($(number created) + $(awk '/^created/ { print $2 }' summary))) = 1 ]
    [ $(($(number older) + $(awk '/^older/ { print $2 }' summary))) = 1 ]
}

@test "the memory of a loader with two workers stays below 16 MiB" {
    [ -z "${SANITIZE:-}" ] || return 0 # its bookkeeping counts as memory
    run loader --empty --generate 3000 --workers 2
    [ "$(number peak-KiB)" -lt 16384 ]
}
