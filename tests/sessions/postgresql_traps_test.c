/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PostgreSQL's traps, one test each: behaviour of the server that breaks a naive lock, and how
 * rowlock handles it.
 *
 * Runs on: postgresql
 * Quick: first
 * Rest: postgresql
 */
#include <libpq-fe.h>
#include <string.h>

#include "lib/grants.h"
#include "lib/lease.h"
#include "lib/test.h"

/* ---- errors and savepoints ------------------------------------------------------------------- */

TEST(trap_any_error_frees_the_locks_at_once)
{
    struct rowlock_connection *own = t_open(), *other = t_open();

    t_ok(t_begin(own, t_x("freed"), 0));
    t_int(t_try_sql(t_handle(own), "SELECT 1/0"), 1);
    t_ok(t_begin(other, t_x("freed"), 0)); /* even before a ROLLBACK */
    t_fails(t_lock(own, t_x("another"), 0), EABORTED);
    t_left(ABORTED);
    t_fails(rowlock_commit(own, &t_error), EABORTED);
    t_left(NONE);
    t_int(t_engine()->in_transaction(t_handle(own)), 0);
}

/* ---- settings of the session ----------------------------------------------------------------- */

TEST(trap_a_lock_timeout_under_half_a_millisecond_means_for_ever)
{
    struct rowlock_connection *holder = t_open(), *own = t_open();
    void *session = t_native();
    struct rowlock_want want = t_x("short");

    t_ok(rowlock_prepare(own, &want, 1, &t_error));
    t_ok(t_begin(holder, want, 0));
    t_fails(t_begin(own, want, 1), ETIMEDOUT);
    t_native_sql(session, "BEGIN");
    t_text(t_native_sql(session, "SELECT rowlock.try_exclusive('short', '0.1 ms')"), "f");
    t_text(t_native_sql(session, "SELECT rowlock.try_exclusive('short', '0')"), "f");
    t_text(t_native_sql(session, "SELECT rowlock.try_exclusive('short', '-1 s')"), "f");
    t_native_sql(session, "COMMIT");
}

TEST(trap_a_hostile_search_path)
{
    struct rowlock_connection *holder = t_open(), *own = t_open();
    void *session = t_native();
    struct rowlock_want want = t_x("path");

    t_native_sql(session, "CREATE SCHEMA IF NOT EXISTS evil");
    t_native_sql(session, "CREATE TABLE IF NOT EXISTS evil.lease (token bigint)");
    t_native_sql(session, "CREATE TABLE IF NOT EXISTS evil.heartbeat (token bigint)");
    t_native_sql(session, "CREATE TABLE IF NOT EXISTS evil.meta (version integer)");
    t_native_sql(session, "CREATE TABLE IF NOT EXISTS evil.name (name text)");
    t_native_sql(session, "CREATE TABLE IF NOT EXISTS evil.rowlock_object (uuid text)");
    t_sql(own, "SET search_path = evil");
    t_ok(rowlock_prepare(own, &want, 1, &t_error));
    t_ok(t_begin(holder, want, 0));
    t_fails(t_begin(own, want, 0), EBUSY);
    t_sql(own, "SET search_path = ''");
    t_fails(t_begin(own, want, 0), EBUSY);
    t_fails(t_begin(own, want, 30), ETIMEDOUT);
    t_ok(rowlock_commit(holder, &t_error));
    t_ok(t_begin(own, want, 0));
    t_fails(t_begin(holder, want, 0), EBUSY);
    t_ok(rowlock_commit(own, &t_error));
}

/* A user's functions and operators that come before those of pg_catalog. */
TEST(trap_a_search_path_that_hides_pg_catalog)
{
    struct rowlock_connection *holder = t_open(), *own = t_open();
    void *session = t_native();
    struct rowlock_want want = t_x("hidden");

    t_native_sql(session, "CREATE SCHEMA IF NOT EXISTS worse");
    t_native_sql(session, "CREATE OR REPLACE FUNCTION worse.pg_try_advisory_xact_lock(bigint) "
                          "RETURNS boolean LANGUAGE sql AS 'SELECT true'");
    t_native_sql(session, "CREATE OR REPLACE FUNCTION worse.pg_advisory_xact_lock(bigint) "
                          "RETURNS void LANGUAGE sql AS 'SELECT'");
    t_native_sql(session, "CREATE OR REPLACE FUNCTION worse.clock_timestamp() RETURNS timestamptz "
                          "LANGUAGE sql AS $$SELECT 'infinity'::timestamptz$$");
    t_native_sql(session, "CREATE OR REPLACE FUNCTION worse.sha256(bytea) RETURNS bytea "
                          "LANGUAGE sql AS $$SELECT '\\x0123456789abcdef'::bytea$$");
    t_ok(rowlock_prepare(own, &want, 1, &t_error));
    t_ok(t_begin(holder, want, 0));
    t_sql(own, "SET search_path = worse, pg_catalog");
    t_fails(t_begin(own, want, 0), EBUSY);
    t_fails(t_begin(own, want, 30), ETIMEDOUT);
}

/* ---- isolation levels ------------------------------------------------------------------------ */

static void begins_at_read_committed(struct rowlock_connection *own)
{
    t_ok(t_begin(own, t_x("level"), 0));
    t_text(t_sql(own, "SHOW transaction_isolation"), "read committed");
    t_text(t_sql(own, "SHOW transaction_read_only"), "off");
    t_ok(rowlock_commit(own, &t_error));
}

static void refuses_its_level(struct rowlock_connection *own)
{
    struct rowlock_want want = t_x("level");

    t_ok(rowlock_prepare(own, &want, 1, &t_error));
    t_sql(own, "BEGIN READ WRITE");
    t_fails(t_lock(own, want, 0), ESNAPSHOT);
    t_sql(own, "ROLLBACK");
    t_sql(own, "BEGIN READ WRITE");
    t_sql(own, "SELECT 1");
    t_fails(t_lock(own, want, 1000), ESNAPSHOT);
    t_contains(t_error.text, "READ COMMITTED");
    t_sql(own, "ROLLBACK");
}

TEST(p2_trap_a_role_whose_default_is_another_level)
{
    static const char *const levels[] = {"repeatable read", "serializable"};
    struct rowlock_options options = {.url = t_url()};
    void *session = t_native(), *handle;

    for (int i = 0; i < 2; i++) {
        struct rowlock_connection *own, *borrowed;

        t_native_sql(session,
                     "ALTER ROLE CURRENT_USER IN DATABASE %s SET "
                     "default_transaction_isolation = '%s'",
                     PQdb(session), levels[i]);
        own = t_open();
        t_text(t_sql(own, "SHOW default_transaction_isolation"), levels[i]);
        begins_at_read_committed(own);
        refuses_its_level(own);
        borrowed = t_wrap(&handle, NULL);
        begins_at_read_committed(borrowed);
        refuses_its_level(borrowed);
        borrowed = t_wrap(&handle, &options);
        begins_at_read_committed(borrowed);
    }
    t_native_sql(session, "ALTER ROLE CURRENT_USER IN DATABASE %s RESET ALL", PQdb(session));
}

/* As behind a pooler whose server has become a standby: the session is left for a new one. */
TEST(trap_a_session_that_has_become_read_only)
{
    struct rowlock_connection *own = t_open();
    struct rowlock_lease *lease = t_granted(own, t_x("moved"), 60000), *other = NULL;

    t_ok(rowlock_renew(lease, 0, &t_error));
    t_sql(own, "SET default_transaction_read_only = on");
    t_ok(rowlock_renew(lease, 0, &t_error));
    t_sql(own, "SET default_transaction_read_only = on");
    t_ok(t_acquire(own, t_x("other"), 60000, 0, &other));
    t_text(t_sql(own, "SHOW default_transaction_read_only"), "off");
    t_ok(rowlock_release(other, &t_error));
    rowlock_lease_free(other);
    t_ok(rowlock_release(lease, &t_error));
    rowlock_lease_free(lease);
}

TEST(trap_a_read_only_transaction_cannot_sweep)
{
    struct rowlock_options options = {.url = t_url()};
    struct rowlock_connection *bare, *with_url, *other = t_open();
    void *hand = t_native(), *first, *second;
    struct rowlock_want want = t_x("read only");

    if (t_facts()->code != ROWLOCK_NATIVE)
        return; /* a read-only transaction cannot lock rows at all */
    bare = t_wrap(&first, NULL);
    with_url = t_wrap(&second, &options);
    lease_put(hand, 9101, want.name, "exclusive", -1000);
    t_native_sql(first, "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY");
    t_fails(t_lock(bare, want, 0), EBUSY);
    t_left(KEPT);
    t_fails(t_lock(bare, want, 100), ETIMEDOUT);
    t_left(KEPT);
    t_native_sql(first, "SELECT 1");
    t_native_sql(second, "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY");
    t_ok(t_lock(with_url, want, T_TIMEOUT_MS)); /* the second connection sweeps it */
    t_int(lease_rows(hand, 9101), 0);
    t_fails(t_begin(other, want, 0), EBUSY);
}

TEST(without_a_second_connection_the_transaction_is_kept)
{
    struct rowlock_options options = {.url = "postgresql:///none?host=/nowhere"};
    struct rowlock_want want = t_x("no second connection");
    void *hand = t_native(), *own;
    struct rowlock_connection *connection = t_wrap(&own, &options);

    lease_put(hand, 9102, want.name, "exclusive", -1000);
    t_native_sql(own, "BEGIN");
    t_fails(t_lock(connection, want, 0), ECONN);
    t_left(KEPT);
    t_native_sql(own, "COMMIT");
}

/* ---- prepared statements, vacuum, install ---------------------------------------------------- */

static void lock_and_unlock(struct rowlock_connection *connection, const char *name)
{
    struct rowlock_connection *other = t_open();

    /* more often than the threshold at which libraries switch to prepared statements */
    for (int i = 0; i < 10; i++) {
        t_ok(t_begin(connection, t_x(name), i % 2 ? -1 : 1000));
        t_fails(t_begin(other, t_x(name), 0), EBUSY);
        t_ok(rowlock_commit(connection, &t_error));
    }
    t_close(other);
}

TEST(trap_nothing_is_prepared_on_a_borrowed_connection)
{
    void *handle;
    struct rowlock_connection *borrowed = t_wrap(&handle, NULL);

    lock_and_unlock(borrowed, "not prepared");
    t_own_begin(handle, t_engine()->begin);
    t_ok(t_lock(borrowed, t_x("not prepared"), 0));
    t_fails(t_lock(borrowed,
                   (struct rowlock_want){.name = "lost", .mode = ROWLOCK_EXCLUSIVE, .token = 77},
                   0),
            ELOST);
    t_ok(rowlock_commit(borrowed, &t_error));
    t_ok(rowlock_ping(borrowed, &t_error));
    t_text(t_native_sql(handle, "SELECT count(*) FROM pg_prepared_statements"), "0");
    t_text(t_native_sql(handle, "SELECT count(*) FROM pg_listening_channels()"), "0");
}

TEST(trap_discard_all)
{
    void *handle;
    struct rowlock_connection *borrowed = t_wrap(&handle, NULL), *own = t_open();

    for (int i = 0; i < 3; i++) {
        lock_and_unlock(borrowed, "discarded");
        t_native_sql(handle, "DISCARD ALL");
        lock_and_unlock(own, "discarded");
        t_sql(own, "DISCARD ALL");
        lock_and_unlock(own, "discarded");
        t_sql(own, "DEALLOCATE ALL");
    }
    /* in the middle of a transaction that began well */
    t_ok(t_begin(own, t_x("before"), 0));
    t_sql(own, "DEALLOCATE ALL");
    t_ok(t_lock(own, t_x("after"), T_TIMEOUT_MS));
    t_ok(rowlock_commit(own, &t_error));
}

/* ---- uninstall ------------------------------------------------------------------------------- */

static int uninstall_now(struct rowlock_connection *connection, void *data,
                         struct rowlock_error *error)
{
    (void)data;
    return rowlock_uninstall(connection, error);
}

/* The new row is not committed yet when uninstall looks for the first time. */
TEST(trap_uninstall_sees_what_came_while_it_waited)
{
    struct rowlock_connection *remover = t_open(), *user = t_open();
    struct rowlock_plan plan = {.technique = t_facts()->code};
    struct thread *thread;

    t_own_begin(t_handle(user), t_engine()->begin);
    t_sql(user, "INSERT INTO rowlock.counter (name, last) VALUES ('late', 1)");
    thread = t_thread(remover, uninstall_now, NULL);
    t_until_waiting(thread);
    t_sql(user, "COMMIT");
    t_int(t_join(thread), ROWLOCK_EBUSY);
    t_text(t_sql(user, "SELECT last FROM rowlock.counter WHERE name = 'late'"), "1");
    t_sql(user, "DELETE FROM rowlock.counter WHERE name = 'late'");
    t_ok(rowlock_uninstall(remover, &t_error));
    t_ok(rowlock_install(remover, &plan, &t_error));
}
