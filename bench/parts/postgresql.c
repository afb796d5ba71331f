/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of rowlock's [BEGIN + lock + lease check] ... [COMMIT] on PostgreSQL, compared with
 * hand-written libpq code around a bare pg_advisory_xact_lock.
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include "rate.h"
#include "rowlock.h"
#include "rowlock/postgresql.h"

struct session {
    PGconn *conn; /* rowlock's own session, or a borrowed one */
    struct rowlock_connection *connection;
    int borrowed, worker;
};

static void check(PGconn *conn, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        bench_die("%s", PQerrorMessage(conn));
    PQclear(result);
}

static void prepare(PGconn *conn)
{
    check(conn, PQprepare(conn, "b", "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", 0, NULL));
    check(conn, PQprepare(conn, "l", "SELECT pg_advisory_xact_lock($1)", 1, NULL));
    check(conn, PQprepare(conn, "c", "COMMIT", 0, NULL));
}

static void *open_own(const char *url, int worker)
{
    struct session *session = calloc(1, sizeof *session);

    session->worker = worker;
    session->connection = bench_connect(url);
    session->conn = rowlock_postgresql_handle(session->connection);
    prepare(session->conn);
    return session;
}

static void *open_borrowed(const char *url, int worker)
{
    struct session *session = calloc(1, sizeof *session);
    struct rowlock_error error;

    session->worker = worker;
    session->borrowed = 1;
    session->conn = PQconnectdb(url);
    if (rowlock_postgresql_wrap(session->conn, NULL, &session->connection, &error))
        bench_die("%s", error.text);
    return session;
}

static void close_session(void *data)
{
    struct session *session = data;

    rowlock_close(session->connection);
    if (session->borrowed)
        PQfinish(session->conn);
    free(session);
}

/* ---- rowlock --------------------------------------------------------------------------------- */

static void lock_and_commit(void *data, unsigned long i)
{
    struct session *session = data;
    char name[40];

    snprintf(name, sizeof name, "bench:%d:%lu", session->worker, i % 100);
    bench_lock_and_commit(session->connection, name);
}

/* ---- by hand --------------------------------------------------------------------------------- */

static void drain(PGconn *conn)
{
    PGresult *result;

    for (;;) {
        result = PQgetResult(conn);
        if (!result)
            continue;
        if (PQresultStatus(result) == PGRES_PIPELINE_SYNC)
            break;
        check(conn, result);
    }
    PQclear(result);
}

static void key_text(const struct session *session, unsigned long i, char *out, size_t size)
{
    snprintf(out, size, "%lu", (unsigned long)session->worker * 1000 + i % 100);
}

static void hand_prepared(void *data, unsigned long i)
{
    struct session *session = data;
    char key[32];
    const char *values[] = {key};

    key_text(session, i, key, sizeof key);
    PQenterPipelineMode(session->conn);
    PQsendQueryPrepared(session->conn, "b", 0, NULL, NULL, NULL, 0);
    PQsendQueryPrepared(session->conn, "l", 1, values, NULL, NULL, 0);
    PQpipelineSync(session->conn);
    drain(session->conn);
    PQexitPipelineMode(session->conn);
    check(session->conn, PQexecPrepared(session->conn, "c", 0, NULL, NULL, NULL, 0));
}

static void hand_unprepared(void *data, unsigned long i)
{
    struct session *session = data;
    char key[32];
    const char *values[] = {key};

    key_text(session, i, key, sizeof key);
    PQenterPipelineMode(session->conn);
    PQsendQueryParams(session->conn, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", 0, NULL,
                      NULL, NULL, NULL, 0);
    PQsendQueryParams(session->conn, "SELECT pg_advisory_xact_lock($1)", 1, NULL, values, NULL,
                      NULL, 0);
    PQpipelineSync(session->conn);
    drain(session->conn);
    PQexitPipelineMode(session->conn);
    check(session->conn, PQexec(session->conn, "COMMIT"));
}

static void hand_three_trips(void *data, unsigned long i)
{
    struct session *session = data;
    char key[32];
    const char *values[] = {key};

    key_text(session, i, key, sizeof key);
    check(session->conn, PQexec(session->conn, "BEGIN"));
    check(session->conn, PQexecPrepared(session->conn, "l", 1, values, NULL, NULL, 0));
    check(session->conn, PQexec(session->conn, "COMMIT"));
}

static const struct comparison comparisons[] = {
    {"own connection / by hand, both prepared", open_own, lock_and_commit, hand_prepared,
     close_session, 0.95},
    {"borrowed connection / by hand, both unprepared", open_borrowed, lock_and_commit,
     hand_unprepared, close_session, 0.85},
    {"own connection / BEGIN, lock, COMMIT in three round trips", open_own, lock_and_commit,
     hand_three_trips, close_session, 1.25},
};

int main(int argc, char **argv)
{
    static const int workers[] = {1, 8};
    int rounds = argc > 2 ? atoi(argv[2]) : 41;

    if (argc < 2)
        bench_die("usage: postgresql URL [ROUNDS]");
    bench_headline();
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        for (size_t k = 0; k < 2; k++)
            bench_compare(&comparisons[i], argv[1], workers[k], rounds, 100);
    return 0;
}
