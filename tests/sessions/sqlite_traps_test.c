/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite's traps, one test each: behaviour of the engine that breaks a naive lock, and how rowlock
 * handles it.
 *
 * Runs on: sqlite
 * Quick: first
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/harness.h"
#include "lib/lease.h"
#include "lib/test.h"
#include "rowlock/sqlite.h"

static struct rowlock_connection *deferred(void **handle)
{
    struct rowlock_connection *connection = t_wrap(handle, NULL);

    t_ok(rowlock_begin(connection, (struct rowlock_want[]){t_x("once")}, 1, 0, &t_error));
    t_ok(rowlock_rollback(connection, &t_error)); /* so that the schema has been read */
    t_native_sql(*handle, "BEGIN");
    t_native_sql(*handle, "SELECT count(*) FROM sqlite_master");
    return connection;
}

TEST(p2_trap_a_transaction_that_has_read_may_still_become_the_writer)
{
    struct rowlock_connection *other = t_open();
    void *handle;
    struct rowlock_connection *own = deferred(&handle);

    t_ok(t_lock(own, t_x("upgraded"), 0));
    t_fails(t_begin(other, t_x("upgraded"), 0), EBUSY);
    t_native_sql(handle, "COMMIT");
    t_ok(t_begin(other, t_x("upgraded"), 0));
}

TEST(p1_trap_a_handle_of_a_file_with_hard_links_is_refused)
{
    struct rowlock_connection *connection = NULL;
    sqlite3 *handle = t_native();
    char second[4096];

    snprintf(second, sizeof second, "%s.linked", sqlite3_db_filename(handle, "main"));
    t_true(link(sqlite3_db_filename(handle, "main"), second) == 0);
    t_fails(rowlock_sqlite_wrap(handle, NULL, &connection, &t_error), ESERVER);
    t_true(strstr(t_error.text, "has 2 hard links") != NULL);
    t_true(unlink(second) == 0);
    t_ok(rowlock_sqlite_wrap(handle, NULL, &connection, &t_error));
    rowlock_close(connection);
}

TEST(p2_trap_but_not_while_another_writes_and_says_so_at_once)
{
    struct rowlock_connection *writer = t_open();
    void *handle;
    struct rowlock_connection *own = deferred(&handle);
    long long began;

    t_ok(t_begin(writer, t_x("writer"), 0));
    began = t_now();
    t_fails(t_lock(own, t_x("upgraded"), -1), ESNAPSHOT);
    t_left(KEPT);
    t_fails(t_lock(own, t_x("upgraded"), 60000), ESNAPSHOT);
    t_within(began, 10000); /* the handle's own busy_timeout is 10 s, the wait 60 s */
    t_native_sql(handle, "SELECT 1");
    t_ok(rowlock_commit(writer, &t_error));
    t_native_sql(handle, "ROLLBACK");
    t_native_sql(handle, "BEGIN");
    t_ok(t_lock(own, t_x("upgraded"), 0));
}

TEST(p2_trap_nor_after_another_wrote)
{
    struct rowlock_connection *writer = t_open();
    void *handle;
    struct rowlock_connection *own = deferred(&handle);

    t_ok(t_begin(writer, t_x("writer"), 0));
    t_sql(writer, "CREATE TABLE wrote (n INTEGER)");
    t_ok(rowlock_commit(writer, &t_error));
    t_fails(t_lock(own, t_x("upgraded"), 1000), ESNAPSHOT);
    t_native_sql(handle, "ROLLBACK");
}

TEST(trap_the_callers_busy_timeout_is_put_back)
{
    struct rowlock_connection *holder = t_open();
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL);

    sqlite3_busy_timeout(handle, 7321);
    t_ok(t_begin(holder, t_x("held"), 0));
    t_fails(t_begin(own, t_x("held"), 0), EBUSY);
    t_text(t_native_sql(handle, "PRAGMA busy_timeout"), "7321");
    t_fails(t_begin(own, t_x("held"), 40), ETIMEDOUT);
    t_text(t_native_sql(handle, "PRAGMA busy_timeout"), "7321");
    t_ok(rowlock_commit(holder, &t_error));
    t_ok(t_begin(own, t_x("held"), T_TIMEOUT_MS));
    t_ok(rowlock_commit(own, &t_error));
    t_text(t_native_sql(handle, "PRAGMA busy_timeout"), "7321");
}

TEST(trap_a_file_that_may_only_be_read)
{
    struct rowlock_connection *own = t_open(), *reader = NULL;
    sqlite3 *handle = NULL;

    t_ok(t_begin(own, t_x("there"), 0));
    t_ok(rowlock_commit(own, &t_error));
    t_int(sqlite3_open_v2(t_url() + strlen("sqlite:"), &handle, SQLITE_OPEN_READONLY, NULL), 0);
    t_ok(rowlock_sqlite_wrap(handle, NULL, &reader, &t_error));
    t_fails(t_begin(reader, t_x("there"), 0), ESERVER);
    rowlock_close(reader);
    sqlite3_close(handle);
}

TEST(trap_a_lease_while_the_file_is_held_is_busy_at_once)
{
    struct rowlock_connection *own = t_open();
    void *hand = t_native();
    long long began;

    lease_put(hand, 71, "leased", "exclusive", 600000);
    t_ok(t_begin(own, t_x("other"), 0));
    began = t_now();
    t_fails(t_lock(own, t_x("leased"), -1), EBUSY); /* waiting would block the lease's renewals */
    t_within(began, 10000);
    t_left(KEPT);
    t_ok(rowlock_commit(own, &t_error));
}

static int lock_now(struct rowlock_connection *connection, void *data, struct rowlock_error *error)
{
    struct rowlock_want want = {.name = data};

    return rowlock_lock(connection, &want, 1, 20000, error);
}

/* On a wrapped handle the very first lock must write before it reads: a deferred transaction
   that has read cannot wait for another writer. */
TEST(p2_a_first_lock_in_a_deferred_transaction_waits_for_another_writer)
{
    struct rowlock_connection *writer = t_open(), *borrowed;
    struct thread *thread;
    void *handle;

    borrowed = t_wrap(&handle, NULL);
    t_native_sql(handle, "BEGIN");
    t_ok(t_begin(writer, t_x(t_name(1)), 0));
    thread = t_thread(borrowed, lock_now, (void *)t_name(2));
    t_until_waiting(thread);
    t_ok(rowlock_commit(writer, &t_error));
    t_ok(t_join(thread));
    t_native_sql(handle, "COMMIT");
}

TEST(a_first_lock_without_a_schema)
{
    void *handle;
    struct rowlock_connection *borrowed = t_wrap(&handle, NULL), *other = t_open();

    t_ok(rowlock_uninstall_force(other, &t_error));
    t_native_sql(handle, "BEGIN");
    t_fails(t_lock(borrowed, t_x("none"), 0), ESCHEMA);
    t_left(KEPT);
    t_native_sql(handle, "ROLLBACK");
}
