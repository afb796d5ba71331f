/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reaches SQLite directly, without the library (struct engine in engine.h). SQLite cannot report
 * waiters; lib/thread.c observes the library's pauses instead.
 */
#include <sqlite3.h>
#include <stdio.h>

#include "lib/engine.h"
#include "rowlock/sqlite.h"

static void *open_file(const char *url)
{
    sqlite3 *db = NULL;

    if (sqlite3_open(url + sizeof "sqlite:" - 1, &db) != SQLITE_OK) {
        sqlite3_close(db);
        return NULL;
    }
    sqlite3_busy_timeout(db, 10000);
    return db;
}

static void close_file(void *handle)
{
    sqlite3_close(handle);
}

static int wrap(void *handle, const struct rowlock_options *options,
                struct rowlock_connection **out, struct rowlock_error *error)
{
    return rowlock_sqlite_wrap(handle, options, out, error);
}

static void *handle_of(struct rowlock_connection *connection)
{
    return rowlock_sqlite_handle(connection);
}

static int sql(void *handle, const char *text, char *out, size_t size)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(handle, text, -1, &statement, NULL);

    out[0] = '\0';
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
        if (code == SQLITE_ROW && sqlite3_column_text(statement, 0))
            snprintf(out, size, "%s", (const char *)sqlite3_column_text(statement, 0));
        while (code == SQLITE_ROW)
            code = sqlite3_step(statement);
    }
    if (code != SQLITE_DONE)
        snprintf(out, size, "%s", sqlite3_errmsg(handle));
    sqlite3_finalize(statement);
    return code != SQLITE_DONE;
}

static int in_transaction(void *handle)
{
    return !sqlite3_get_autocommit(handle);
}

const struct engine t_engine_sqlite = {
    .name = "sqlite",
    .begin = {"BEGIN IMMEDIATE"},
    .settings = "SELECT 'busy ' || timeout FROM pragma_busy_timeout",
    .now_ms = "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)",
    .meta = "rowlock_meta",
    .unreachable = "sqlite:/nowhere/at/all/hunter2.db",
    .open = open_file,
    .close = close_file,
    .wrap = wrap,
    .handle = handle_of,
    .sql = sql,
    .in_transaction = in_transaction,
};
