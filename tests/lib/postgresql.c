/* SPDX-License-Identifier: Apache-2.0 */
/* Reaches PostgreSQL directly, without the library (struct engine in engine.h). */
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>

#include "lib/engine.h"
#include "rowlock/postgresql.h"

static void *open_session(const char *url)
{
    PGconn *session = PQconnectdb(url);

    if (PQstatus(session) == CONNECTION_OK)
        return session;
    fprintf(stderr, "%s", PQerrorMessage(session));
    PQfinish(session);
    return NULL;
}

static void close_session(void *handle)
{
    PQfinish(handle);
}

static int wrap(void *handle, const struct rowlock_options *options,
                struct rowlock_connection **out, struct rowlock_error *error)
{
    return rowlock_postgresql_wrap(handle, options, out, error);
}

static void *handle_of(struct rowlock_connection *connection)
{
    return rowlock_postgresql_handle(connection);
}

static int sql(void *handle, const char *text, char *out, size_t size)
{
    PGresult *result = PQexec(handle, text);
    ExecStatusType status = PQresultStatus(result);
    int failed = status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK;

    out[0] = '\0';
    if (failed)
        snprintf(out, size, "%s", PQerrorMessage(handle));
    else if (PQntuples(result) > 0)
        snprintf(out, size, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    return failed;
}

static int in_transaction(void *handle)
{
    PGTransactionStatusType status = PQtransactionStatus(handle);

    return status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
}

static long session_of(void *handle)
{
    return PQbackendPID(handle);
}

/* ---- step by step ---------------------------------------------------------------------------- */

static int send_text(void *handle, const char *text)
{
    return !PQsendQuery(handle, text);
}

static void join(const PGresult *result, char *out, size_t size)
{
    size_t at = 0;

    out[0] = '\0';
    if (PQntuples(result) == 0)
        snprintf(out, size, "(none)");
    for (int i = 0; PQntuples(result) > 0 && i < PQnfields(result) && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%s", i ? "|" : "", PQgetvalue(result, 0, i));
}

/* The last statement of the text that returns rows, and the first one that failed. */
static void receive(void *handle, char *out, size_t size, char *failed, size_t failed_size)
{
    PGresult *result;

    snprintf(out, size, "(none)");
    failed[0] = '\0';
    while ((result = PQgetResult(handle))) {
        if (PQresultStatus(result) == PGRES_TUPLES_OK) {
            join(result, out, size);
        } else if (PQresultStatus(result) != PGRES_COMMAND_OK && !*failed) {
            const char *code = PQresultErrorField(result, PG_DIAG_SQLSTATE);

            snprintf(failed, failed_size, "%s", code ? code : "lost");
            snprintf(out, size, "%s", PQerrorMessage(handle));
        }
        PQclear(result);
    }
}

/* Consumes nothing of the answer. */
static int has_answered(void *handle)
{
    struct pollfd socket = {PQsocket(handle), POLLIN, 0};

    if (poll(&socket, 1, 0) > 0)
        PQconsumeInput(handle);
    return !PQisBusy(handle);
}

const struct engine t_engine_postgresql = {
    .name = "postgresql",
    .begin = {"BEGIN ISOLATION LEVEL READ COMMITTED"},
    .begin_repeatable = {"BEGIN ISOLATION LEVEL REPEATABLE READ"},
    .default_repeatable = "SET default_transaction_isolation = 'repeatable read'",
    .default_read_only = "SET default_transaction_read_only = on",
    .settings = "SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings "
                "WHERE name NOT LIKE 'transaction\\_%' AND name NOT IN ('application_name')",
    .now_ms = "floor(extract(epoch FROM clock_timestamp())::numeric * 1000)::bigint",
    .meta = "rowlock.meta",
    .unreachable = "postgresql://rowlock:hunter2@127.0.0.1:1/test",
    .stranger = "postgresql://nobody_here:hunter2@127.0.0.1:%d/test",
    .silent = "postgresql://rowlock:hunter2@127.0.0.1:%d/test",
    .open = open_session,
    .close = close_session,
    .wrap = wrap,
    .handle = handle_of,
    .sql = sql,
    .in_transaction = in_transaction,
    .session = session_of,
    .is_waiting = t_query_waiting,
    /* behind the name lock, the wait for a lease polls: it sleeps between two looks */
    .waiting = "SELECT count(*) FROM pg_stat_activity WHERE pid = %ld AND "
               "(wait_event_type = 'Lock' OR wait_event = 'PgSleep')",
    T_POSTGRESQL_KILLING,
    .send = send_text,
    .receive = receive,
    .has_answered = has_answered,
};
