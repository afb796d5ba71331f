/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite's traps, one test each: behaviour of the engine that breaks a naive lock, and how rowlock
 * handles it.
 *
 * Runs on: sqlite
 * Quick: first
 */
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

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
    const char *second = t_say("%s.linked", sqlite3_db_filename(handle, "main"));

    t_true(link(sqlite3_db_filename(handle, "main"), second) == 0);
    t_fails(rowlock_sqlite_wrap(handle, NULL, &connection, &t_error), ESERVER);
    t_true(strstr(t_error.text, "has 2 hard links") != NULL);
    t_true(unlink(second) == 0);
    t_ok(rowlock_sqlite_wrap(handle, NULL, &connection, &t_error));
    rowlock_close(connection);
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
