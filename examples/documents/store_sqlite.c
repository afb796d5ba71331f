/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite: one write lock for the whole file, so workers take turns. It has no type for an instant:
 * `ts` is whole microseconds since 1970 UTC (SELECT id, datetime(ts / 1000000, 'unixepoch') ...).
 */
#include <sqlite3.h>

#include "store.h"

#define BUSY_MS 60000

enum { READ, READ_EXACTLY, WRITE };

static const char *const sql[] = {
    [READ] = "SELECT ts FROM document WHERE id = ?1",
    [READ_EXACTLY] = "SELECT ts FROM document WHERE id = ?1 AND ts = ?2 AND body = ?3",
    [WRITE] = ("INSERT INTO document (id, ts, body) VALUES (?1, ?2, ?3)"
               " ON CONFLICT (id) DO UPDATE SET ts = excluded.ts, body = excluded.body"),
};

static int fail(sqlite3 *handle, struct rowlock_error *error, const char *context)
{
    int result = sqlite3_errcode(handle);
    int code = result == SQLITE_BUSY || result == SQLITE_LOCKED ? ROWLOCK_EROLLEDBACK : ROWLOCK_EDB;

    store_fail(error, code, context, sqlite3_errmsg(handle));
    error->native = result;
    return code;
}

static int execute(struct store *store, const char *text, struct rowlock_error *error)
{
    sqlite3_busy_timeout(store->handle, BUSY_MS);
    if (sqlite3_exec(store->handle, text, NULL, NULL, NULL) == SQLITE_OK)
        return ROWLOCK_OK;
    return fail(store->handle, error, text);
}

static int prepare(struct store *store, struct rowlock_error *error)
{
    for (int i = READ; i <= WRITE; i++)
        if (sqlite3_prepare_v3(store->handle, sql[i], -1, SQLITE_PREPARE_PERSISTENT,
                               (sqlite3_stmt **)&store->statements[i], NULL))
            return fail(store->handle, error, "prepare");
    sqlite3_busy_timeout(store->handle, BUSY_MS);
    return ROWLOCK_OK;
}

static void close_store(struct store *store)
{
    for (int i = READ; i <= WRITE; i++)
        sqlite3_finalize(store->statements[i]);
}

/* A statement that has no second or third parameter ignores it. */
static int step(sqlite3_stmt *statement, const struct document *document)
{
    sqlite3_bind_text(statement, 1, document->id, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, document->time);
    sqlite3_bind_blob(statement, 3, document->body, (int)document->length, SQLITE_STATIC);
    return sqlite3_step(statement);
}

static int read_version(struct store *store, const struct document *document, bool exactly,
                        struct version *version, struct rowlock_error *error)
{
    sqlite3_stmt *statement = store->statements[exactly ? READ_EXACTLY : READ];
    int stepped = step(statement, document), code = ROWLOCK_OK;

    version->registered = stepped == SQLITE_ROW;
    version->time = version->registered ? sqlite3_column_int64(statement, 0) : 0;
    if (stepped != SQLITE_ROW && stepped != SQLITE_DONE)
        code = fail(store->handle, error, "read");
    sqlite3_reset(statement);
    return code;
}

static int write_and_commit(struct store *store, const struct document *document,
                            struct rowlock_error *error)
{
    sqlite3_stmt *statement = store->statements[WRITE];
    int code = ROWLOCK_OK;

    if (step(statement, document) != SQLITE_DONE)
        code = fail(store->handle, error, "write");
    sqlite3_reset(statement);
    return code ? code : rowlock_commit(store->connection, error);
}

const struct engine engine_sqlite = {
    .create = "CREATE TABLE IF NOT EXISTS document ("
              " id TEXT PRIMARY KEY NOT NULL, ts INTEGER NOT NULL, body BLOB NOT NULL)",
    /* A deferred BEGIN that reads and then writes fails when another wrote in between, so this is
       what any program would say, lock or no lock. */
    .begin = "BEGIN IMMEDIATE",
    .execute = execute,
    .prepare = prepare,
    .close = close_store,
    .read = read_version,
    .write = write_and_commit,
};
