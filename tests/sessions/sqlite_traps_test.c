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

    t_lock_once(own, t_x("there"), 0);
    t_int(sqlite3_open_v2(t_url() + strlen("sqlite:"), &handle, SQLITE_OPEN_READONLY, NULL), 0);
    t_ok(rowlock_sqlite_wrap(handle, NULL, &reader, &t_error));
    t_fails(t_begin(reader, t_x("there"), 0), ESERVER);
    rowlock_close(reader);
    sqlite3_close(handle);
}
