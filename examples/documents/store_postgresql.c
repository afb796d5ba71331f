/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PostgreSQL: a document costs three round trips, BEGIN and lock, read, write and COMMIT (one
 * pipeline). Times travel in binary, microseconds since 2000, so that they stay exact and do
 * not depend on the session's TimeZone or DateStyle.
 */
#include <endian.h>
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "rowlock/postgresql.h"
#include "store.h"

static const char sql_create[] = "CREATE TABLE IF NOT EXISTS document ("
                                 " id text COLLATE \"C\" PRIMARY KEY,"
                                 " ts timestamptz NOT NULL,"
                                 " body bytea NOT NULL)";
static const char sql_empty[] = "DELETE FROM document";
static const char sql_begin[] = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
static const char sql_read[] = "SELECT ts FROM document WHERE id = $1";
static const char sql_write[] = "INSERT INTO document (id, ts, body) VALUES ($1, $2, $3)"
                                " ON CONFLICT (id) DO UPDATE"
                                " SET ts = excluded.ts, body = excluded.body";
static const char sql_each[] = "SELECT id, ts, body FROM document ORDER BY id";

/* The oids of text, timestamptz and bytea never change; the text's encoding is the session's. */
static const Oid types[] = {25, 1184, 17};
static const int64_t year_2000 = INT64_C(946684800) * 1000000;

struct postgresql_store {
    struct store store;
    PGconn *handle;
};

static PGconn *handle_of(struct store *store)
{
    return ((struct postgresql_store *)store)->handle;
}

static int fail(PGconn *handle, const PGresult *result, struct rowlock_error *error,
                const char *context)
{
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *text = result ? PQresultErrorMessage(result) : "";
    int code = ROWLOCK_EDB;

    /* 57P..: the server ends this session, libpq just has not read so far */
    if (PQstatus(handle) == CONNECTION_BAD || (state && strncmp(state, "57P", 3) == 0))
        code = ROWLOCK_ECONN;
    else if (state && strncmp(state, "40", 2) == 0)
        code = ROWLOCK_EROLLEDBACK;
    store_fail(error, code, context, *text ? text : PQerrorMessage(handle));
    if (state)
        memcpy(error->sqlstate, state, 5);
    return code;
}

/* Takes the result. */
static int check(PGconn *handle, PGresult *result, struct rowlock_error *error, const char *context)
{
    ExecStatusType status = PQresultStatus(result);
    int code = ROWLOCK_OK;

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        code = fail(handle, result, error, context);
    PQclear(result);
    return code;
}

static int open_store(struct rowlock_connection *connection, struct store **out,
                      struct rowlock_error *error)
{
    struct postgresql_store *p = calloc(1, sizeof *p);

    if (!p)
        return store_fail(error, ROWLOCK_ENOMEM, "documents", "out of memory");
    p->store.engine = &engine_postgresql;
    p->store.connection = connection;
    p->handle = rowlock_postgresql_handle(connection);
    *out = &p->store;
    return ROWLOCK_OK;
}

static void close_store(struct store *store)
{
    free(store);
}

/* Two sessions that create one table at once fail on PostgreSQL, IF NOT EXISTS or not: a name
   locked in the same transaction keeps them apart. */
static int create(struct store *store, struct rowlock_error *error)
{
    static const struct rowlock_want table = {.name = "DocumentTable:document",
                                              .mode = ROWLOCK_EXCLUSIVE};
    PGconn *handle = handle_of(store);
    int code = rowlock_begin(store->connection, &table, 1, -1, error);

    if (code)
        return code;
    code = check(handle, PQexec(handle, "SET LOCAL client_min_messages = warning"), error,
                 "create table");
    if (!code)
        code = check(handle, PQexec(handle, sql_create), error, "create table");
    if (!code)
        code = rowlock_commit(store->connection, error);
    if (code)
        rowlock_rollback(store->connection, NULL);
    return code;
}

static int empty(struct store *store, struct rowlock_error *error)
{
    return check(handle_of(store), PQexec(handle_of(store), sql_empty), error, "empty table");
}

/* The connection is our own, so named statements are safe: no other code sends DISCARD ALL. */
static int prepare(struct store *store, struct rowlock_error *error)
{
    PGconn *handle = handle_of(store);
    int code;

    if (PQsetClientEncoding(handle, "UTF8"))
        return fail(handle, NULL, error, "client encoding");
    code = check(handle, PQprepare(handle, "document_read", sql_read, 1, types), error, "prepare");
    if (!code)
        code = check(handle, PQprepare(handle, "document_write", sql_write, 3, types), error,
                     "prepare");
    if (!code)
        code = check(handle, PQprepare(handle, "document_commit", "COMMIT", 0, NULL), error,
                     "prepare");
    return code;
}

static int begin(struct store *store, struct rowlock_error *error)
{
    return check(handle_of(store), PQexec(handle_of(store), sql_begin), error, "begin");
}

static int64_t time_column(const PGresult *result, int row, int column)
{
    uint64_t wire;

    memcpy(&wire, PQgetvalue(result, row, column), sizeof wire);
    return (int64_t)be64toh(wire) + year_2000;
}

static int read_version(struct store *store, const struct document *document,
                        struct version *version, struct rowlock_error *error)
{
    PGconn *handle = handle_of(store);
    const char *values[] = {document->id};
    const int lengths[] = {(int)document->id_length};
    const int formats[] = {0};
    PGresult *result = PQexecPrepared(handle, "document_read", 1, values, lengths, formats, 1);

    if (PQresultStatus(result) == PGRES_TUPLES_OK) {
        version->registered = PQntuples(result) == 1;
        version->time = version->registered ? time_column(result, 0, 0) : 0;
    }
    return check(handle, result, error, "read");
}

static int send_write(PGconn *handle, const struct document *document)
{
    const uint64_t wire = htobe64((uint64_t)(document->time - year_2000));
    const char *values[] = {document->id, (const char *)&wire, document->body};
    const int lengths[] = {(int)document->id_length, sizeof wire, (int)document->body_length};
    const int formats[] = {0, 1, 1};

    return PQenterPipelineMode(handle) &&
           PQsendQueryPrepared(handle, "document_write", 3, values, lengths, formats, 0) &&
           PQsendQueryPrepared(handle, "document_commit", 0, NULL, NULL, NULL, 0) &&
           PQpipelineSync(handle);
}

/* The answer to one statement of a pipeline, and the NULL behind it. */
static int receive(PGconn *handle, struct rowlock_error *error, const char *context)
{
    PGresult *result = PQgetResult(handle);
    int code = check(handle, result, error, context);

    while (result && PQstatus(handle) == CONNECTION_OK && (result = PQgetResult(handle)))
        PQclear(result);
    return code;
}

/* Reads the end of the pipeline. false: the server closed the session instead. */
static bool end_pipeline(PGconn *handle)
{
    PQclear(PQgetResult(handle));
    return PQexitPipelineMode(handle);
}

static int write_and_commit(struct store *store, const struct document *document,
                            struct rowlock_error *error)
{
    PGconn *handle = handle_of(store);
    struct rowlock_error second;
    int code, commit;

    if (!send_write(handle, document)) /* an unknown part of it was sent */
        return store_fail(error, ROWLOCK_EUNKNOWN, "write", PQerrorMessage(handle));
    code = receive(handle, error, "write");
    commit = receive(handle, code ? &second : error, "commit");
    /* all of it was on its way: the server may have come to the COMMIT; and where it did, but the
       pipeline did not end in order, the session can no longer be used */
    if (PQstatus(handle) != CONNECTION_OK || !end_pipeline(handle))
        return store_fail(error, ROWLOCK_EUNKNOWN, "commit", PQerrorMessage(handle));
    return code ? code : commit;
}

static void hand_on(const PGresult *result, store_row *row, void *data)
{
    struct document document;

    for (int i = 0; i < PQntuples(result); i++) {
        store_document(&document, PQgetvalue(result, i, 0), (size_t)PQgetlength(result, i, 0),
                       time_column(result, i, 1), PQgetvalue(result, i, 2),
                       (size_t)PQgetlength(result, i, 2));
        row(data, &document);
    }
}

static int each(struct store *store, store_row *row, void *data, struct rowlock_error *error)
{
    PGconn *handle = handle_of(store);
    PGresult *result;
    int code = ROWLOCK_OK;

    if (!PQsendQueryParams(handle, sql_each, 0, NULL, NULL, NULL, NULL, 1) ||
        !PQsetSingleRowMode(handle))
        return fail(handle, NULL, error, "read all");
    while ((result = PQgetResult(handle))) {
        if (PQresultStatus(result) == PGRES_SINGLE_TUPLE)
            hand_on(result, row, data);
        else if (PQresultStatus(result) != PGRES_TUPLES_OK)
            code = fail(handle, result, error, "read all");
        PQclear(result);
    }
    return code;
}

const struct engine engine_postgresql = {
    .name = "postgresql",
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
