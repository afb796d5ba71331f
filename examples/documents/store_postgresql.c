/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PostgreSQL: a document costs three round trips, BEGIN and lock, read, write and COMMIT (one
 * pipeline). Times travel in binary, microseconds since 2000, so that they stay exact and do
 * not depend on the session's TimeZone or DateStyle.
 */
#include <endian.h>
#include <libpq-fe.h>
#include <string.h>

#include "store.h"

/* The connection is our own, so named statements are safe: no other code sends DISCARD ALL. */
static const struct {
    const char *name, *sql;
    int parameters;
} statements[] = {
    {"document_read", "SELECT ts FROM document WHERE id = $1", 1},
    {"document_read_exactly", "SELECT ts FROM document WHERE id = $1 AND ts = $2 AND body = $3", 3},
    {"document_write",
     "INSERT INTO document (id, ts, body) VALUES ($1, $2, $3)"
     " ON CONFLICT (id) DO UPDATE SET ts = excluded.ts, body = excluded.body",
     3},
    {"document_commit", "COMMIT", 0},
};

/* The oids of text, timestamptz and bytea never change; the text's encoding is the session's. */
static const Oid types[] = {25, 1184, 17};
static const int formats[] = {0, 1, 1};
static const int64_t year_2000 = INT64_C(946684800) * 1000000;

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

static int execute(struct store *store, const char *sql, struct rowlock_error *error)
{
    return check(store->handle, PQexec(store->handle, sql), error, sql);
}

static int prepare(struct store *store, struct rowlock_error *error)
{
    PGconn *handle = store->handle;
    int code = ROWLOCK_OK;

    if (PQsetClientEncoding(handle, "UTF8"))
        return fail(handle, NULL, error, "client encoding");
    for (size_t i = 0; i < sizeof statements / sizeof *statements && !code; i++)
        code = check(handle,
                     PQprepare(handle, statements[i].name, statements[i].sql,
                               statements[i].parameters, types),
                     error, "prepare");
    return code;
}

struct parameters {
    uint64_t time;
    const char *values[3];
    int lengths[3];
};

static void set_parameters(struct parameters *p, const struct document *document)
{
    p->time = htobe64((uint64_t)(document->time - year_2000));
    p->values[0] = document->id; /* text: its length is not read */
    p->values[1] = (const char *)&p->time;
    p->values[2] = document->body;
    p->lengths[1] = sizeof p->time;
    p->lengths[2] = (int)document->length;
}

static int read_version(struct store *store, const struct document *document, bool exactly,
                        struct version *version, struct rowlock_error *error)
{
    struct parameters p = {0};
    uint64_t wire;
    PGresult *result;

    set_parameters(&p, document);
    result = PQexecPrepared(store->handle, statements[exactly].name, statements[exactly].parameters,
                            p.values, p.lengths, formats, 1);
    version->registered = PQntuples(result) == 1;
    if (version->registered) {
        memcpy(&wire, PQgetvalue(result, 0, 0), sizeof wire);
        version->time = (int64_t)be64toh(wire) + year_2000;
    }
    return check(store->handle, result, error, "read");
}

/* The answer to one statement of a pipeline, and the NULL behind it. */
static int receive(PGconn *handle, struct rowlock_error *error, const char *context)
{
    int code = check(handle, PQgetResult(handle), error, context);

    if (PQstatus(handle) == CONNECTION_OK)
        PQclear(PQgetResult(handle));
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
    PGconn *handle = store->handle;
    struct parameters p = {0};
    struct rowlock_error second;
    int code, commit;

    set_parameters(&p, document);
    if (!PQenterPipelineMode(handle) ||
        !PQsendQueryPrepared(handle, "document_write", 3, p.values, p.lengths, formats, 0) ||
        !PQsendQueryPrepared(handle, "document_commit", 0, NULL, NULL, NULL, 0) ||
        !PQpipelineSync(handle)) /* an unknown part of it was sent */
        return store_fail(error, ROWLOCK_EUNKNOWN, "write", PQerrorMessage(handle));
    code = receive(handle, error, "write");
    commit = receive(handle, code ? &second : error, "commit");
    /* all of it was on its way: the server may have come to the COMMIT; and where it did, but the
       pipeline did not end in order, the session can no longer be used */
    if (PQstatus(handle) != CONNECTION_OK || !end_pipeline(handle))
        return store_fail(error, ROWLOCK_EUNKNOWN, "commit", PQerrorMessage(handle));
    return code ? code : commit;
}

const struct engine engine_postgresql = {
    /* One transaction. Two sessions that create one table at once fail on PostgreSQL, IF NOT EXISTS
       or not: a name that is locked in the same transaction keeps them apart. */
    .create = "SET LOCAL client_min_messages = warning;"
              " SELECT rowlock.exclusive('DocumentTable:document');"
              " CREATE TABLE IF NOT EXISTS document ("
              " id text COLLATE \"C\" PRIMARY KEY, ts timestamptz NOT NULL, body bytea NOT NULL)",
    .begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    .execute = execute,
    .prepare = prepare,
    .read = read_version,
    .write = write_and_commit,
};
