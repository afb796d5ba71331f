/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite: one write lock for the whole file, so workers take turns. It has no type for an instant:
 * `ts` is whole microseconds since 1970 UTC (SELECT id, datetime(ts / 1000000, 'unixepoch') ...).
 */
#include <sqlite3.h>
#include <stdlib.h>

#include "rowlock/sqlite.h"
#include "store.h"

static const char sql_create[] = "CREATE TABLE IF NOT EXISTS document ("
                                 " id TEXT PRIMARY KEY NOT NULL,"
                                 " ts INTEGER NOT NULL,"
                                 " body BLOB NOT NULL)";
static const char sql_empty[] = "DELETE FROM document";
/* A deferred BEGIN that reads and then writes fails when another wrote in between, so this is what
   any program would say, lock or no lock. */
static const char sql_begin[] = "BEGIN IMMEDIATE";
static const char sql_read[] = "SELECT ts FROM document WHERE id = ?1";
static const char sql_write[] = "INSERT INTO document (id, ts, body) VALUES (?1, ?2, ?3)"
                                " ON CONFLICT (id) DO UPDATE"
                                " SET ts = excluded.ts, body = excluded.body";
static const char sql_each[] = "SELECT id, ts, body FROM document ORDER BY id";

#define BUSY_MS 60000

struct sqlite_store {
    struct store store;
    sqlite3 *handle;
    sqlite3_stmt *read, *write;
};

static int fail(sqlite3 *handle, struct rowlock_error *error, const char *context)
{
    int result = sqlite3_errcode(handle);
    int code = result == SQLITE_BUSY || result == SQLITE_LOCKED ? ROWLOCK_EROLLEDBACK : ROWLOCK_EDB;

    store_fail(error, code, context, sqlite3_errmsg(handle));
    error->native = result;
    return code;
}

static int open_store(struct rowlock_connection *connection, struct store **out,
                      struct rowlock_error *error)
{
    struct sqlite_store *s = calloc(1, sizeof *s);

    if (!s)
        return store_fail(error, ROWLOCK_ENOMEM, "documents", "out of memory");
    s->store.engine = &engine_sqlite;
    s->store.connection = connection;
    s->handle = rowlock_sqlite_handle(connection);
    sqlite3_busy_timeout(s->handle, BUSY_MS);
    *out = &s->store;
    return ROWLOCK_OK;
}

static void close_store(struct store *store)
{
    struct sqlite_store *s = (struct sqlite_store *)store;

    sqlite3_finalize(s->read);
    sqlite3_finalize(s->write);
    free(s);
}

static int execute(struct store *store, const char *sql, struct rowlock_error *error,
                   const char *context)
{
    sqlite3 *handle = ((struct sqlite_store *)store)->handle;

    if (sqlite3_exec(handle, sql, NULL, NULL, NULL) == SQLITE_OK)
        return ROWLOCK_OK;
    return fail(handle, error, context);
}

static int create(struct store *store, struct rowlock_error *error)
{
    return execute(store, sql_create, error, "create table");
}

static int empty(struct store *store, struct rowlock_error *error)
{
    return execute(store, sql_empty, error, "empty table");
}

static int prepare(struct store *store, struct rowlock_error *error)
{
    struct sqlite_store *s = (struct sqlite_store *)store;

    if (sqlite3_prepare_v3(s->handle, sql_read, -1, SQLITE_PREPARE_PERSISTENT, &s->read, NULL) ||
        sqlite3_prepare_v3(s->handle, sql_write, -1, SQLITE_PREPARE_PERSISTENT, &s->write, NULL))
        return fail(s->handle, error, "prepare");
    return ROWLOCK_OK;
}

static int begin(struct store *store, struct rowlock_error *error)
{
    return execute(store, sql_begin, error, "begin");
}

static int read_version(struct store *store, const struct document *document,
                        struct version *version, struct rowlock_error *error)
{
    struct sqlite_store *s = (struct sqlite_store *)store;
    int code = ROWLOCK_OK, step;

    sqlite3_bind_text(s->read, 1, document->id, (int)document->id_length, SQLITE_STATIC);
    step = sqlite3_step(s->read);
    if (step == SQLITE_ROW || step == SQLITE_DONE) {
        version->registered = step == SQLITE_ROW;
        version->time = version->registered ? sqlite3_column_int64(s->read, 0) : 0;
    } else {
        code = fail(s->handle, error, "read");
    }
    sqlite3_reset(s->read);
    return code;
}

static int write_and_commit(struct store *store, const struct document *document,
                            struct rowlock_error *error)
{
    struct sqlite_store *s = (struct sqlite_store *)store;
    int code = ROWLOCK_OK;

    sqlite3_bind_text(s->write, 1, document->id, (int)document->id_length, SQLITE_STATIC);
    sqlite3_bind_int64(s->write, 2, document->time);
    sqlite3_bind_blob(s->write, 3, document->body, (int)document->body_length, SQLITE_STATIC);
    if (sqlite3_step(s->write) != SQLITE_DONE)
        code = fail(s->handle, error, "write");
    sqlite3_reset(s->write);
    return code ? code : rowlock_commit(store->connection, error);
}

static void hand_on(sqlite3_stmt *statement, store_row *row, void *data)
{
    struct document document;
    const char *id = (const char *)sqlite3_column_text(statement, 0);
    size_t id_length = (size_t)sqlite3_column_bytes(statement, 0);
    const char *body = sqlite3_column_blob(statement, 2);

    store_document(&document, id ? id : "", id ? id_length : 0, sqlite3_column_int64(statement, 1),
                   body, (size_t)sqlite3_column_bytes(statement, 2));
    row(data, &document);
}

static int each(struct store *store, store_row *row, void *data, struct rowlock_error *error)
{
    sqlite3 *handle = ((struct sqlite_store *)store)->handle;
    sqlite3_stmt *statement;
    int code = ROWLOCK_OK, step;

    if (sqlite3_prepare_v2(handle, sql_each, -1, &statement, NULL))
        return fail(handle, error, "read all");
    while ((step = sqlite3_step(statement)) == SQLITE_ROW)
        hand_on(statement, row, data);
    if (step != SQLITE_DONE)
        code = fail(handle, error, "read all");
    sqlite3_finalize(statement);
    return code;
}

const struct engine engine_sqlite = {
    .name = "sqlite",
    .open = open_store,
    .close = close_store,
    .create = create,
    .empty = empty,
    .prepare = prepare,
    .begin = begin,
    .read = read_version,
    .write = write_and_commit,
    .each = each,
};
