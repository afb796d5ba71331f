/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typical hand-written libpq code: prepared statements, with BEGIN and the lock in one round trip.
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peers/list.h"

static void check(PGconn *conn, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        bench_die("PostgreSQL: %s", PQerrorMessage(conn));
    PQclear(result);
}

static PGconn *connect_to(const char *url)
{
    PGconn *conn = PQconnectdb(url);

    if (PQstatus(conn) != CONNECTION_OK)
        bench_die("PostgreSQL: %s", PQerrorMessage(conn));
    return conn;
}

static void create_rows(const struct bench_place *place)
{
    PGconn *conn = connect_to(place->url);
    char insert[200];

    snprintf(insert, sizeof insert,
             "INSERT INTO bench_row SELECT i FROM generate_series(0, %u) i WHERE NOT EXISTS "
             "(SELECT FROM bench_row)",
             place->names + BENCH_HOT - 1);
    check(conn, PQexec(conn, "SET client_min_messages = warning"));
    check(conn, PQexec(conn, "CREATE TABLE IF NOT EXISTS bench_row (id integer PRIMARY KEY, owner "
                             "integer, expires timestamptz) WITH (fillfactor = 50)"));
    check(conn, PQexec(conn, insert));
    check(conn, PQexec(conn, "ANALYZE bench_row"));
    PQfinish(conn);
}

/* ---- sessions -------------------------------------------------------------------------------- */

static const struct statement {
    const char *name, *text;
    int parameters;
} statements[] = {
    {"begin", "BEGIN", 0},
    {"commit", "COMMIT", 0},
    {"lazy", "SET LOCAL synchronous_commit = off", 0},
    {"lock", "SELECT pg_advisory_lock($1)", 1},
    {"unlock", "SELECT pg_advisory_unlock($1)", 1},
    {"xact", "SELECT pg_advisory_xact_lock($1)", 1},
    {"row", "SELECT id FROM bench_row WHERE id = $1 FOR UPDATE", 1},
    {"take",
     "UPDATE bench_row SET owner = $2, expires = clock_timestamp() + $3 * interval '1 ms' "
     "WHERE id = $1 AND (owner IS NULL OR expires <= clock_timestamp())",
     3},
    {"give", "UPDATE bench_row SET owner = NULL WHERE id = $1 AND owner = $2", 2},
};

struct session {
    PGconn *conn;
    char owner[16], ttl[16];
};

static void *open_session(const struct bench_place *place, int client)
{
    struct session *session = calloc(1, sizeof *session);

    session->conn = connect_to(place->url);
    snprintf(session->owner, sizeof session->owner, "%d", client);
    snprintf(session->ttl, sizeof session->ttl, "%d", place->ttl_ms);
    return session;
}

static const struct statement *statement_of(const char *name)
{
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        if (strcmp(statements[i].name, name) == 0)
            return &statements[i];
    bench_die("no statement %s", name);
}

/* Prepares a statement when it is first used; a process has one session. */
static void prepare(struct session *session, const char *name)
{
    static int done[sizeof statements / sizeof *statements];
    const struct statement *statement = statement_of(name);

    if (done[statement - statements]++ == 0)
        check(session->conn,
              PQprepare(session->conn, name, statement->text, statement->parameters, NULL));
}

static void close_session(void *data)
{
    struct session *session = data;

    PQfinish(session->conn);
    free(session);
}

static int run(struct session *session, const char *statement, unsigned name, int parameters)
{
    char key[16];
    const char *values[] = {key, session->owner, session->ttl};
    PGresult *result;
    int rows;

    snprintf(key, sizeof key, "%u", name);
    prepare(session, statement);
    result = PQexecPrepared(session->conn, statement, parameters, values, NULL, NULL, 0);
    rows = atoi(PQcmdTuples(result));
    check(session->conn, result);
    return rows;
}

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

/* Sends all statements in one round trip; NULL ends the list. */
static void run_together(struct session *session, const char *const *names, unsigned name)
{
    char key[16];
    const char *values[] = {key, session->owner, session->ttl};

    snprintf(key, sizeof key, "%u", name);
    for (int i = 0; names[i]; i++)
        prepare(session, names[i]);
    PQenterPipelineMode(session->conn);
    for (int i = 0; names[i]; i++)
        PQsendQueryPrepared(session->conn, names[i], statement_of(names[i])->parameters, values,
                            NULL, NULL, 0);
    PQpipelineSync(session->conn);
    drain(session->conn);
    PQexitPipelineMode(session->conn);
}

static void lock(void *data, unsigned name)
{
    run(data, "lock", name, 1);
}

static void unlock(void *data, unsigned name)
{
    run(data, "unlock", name, 1);
}

static void begin_advisory(void *data, unsigned name)
{
    static const char *const statement[] = {"begin", "xact", NULL};

    run_together(data, statement, name);
}

static void begin_row(void *data, unsigned name)
{
    static const char *const statement[] = {"begin", "row", NULL};

    run_together(data, statement, name);
}

static void commit(void *data, unsigned name)
{
    (void)name;
    run(data, "commit", 0, 0);
}

/* Polls: a refused client is not woken. */
static void take(void *data, unsigned name)
{
    unsigned pause = 0;

    while (run(data, "take", name, 3) != 1)
        bench_pause(&pause);
}

static void give(void *data, unsigned name)
{
    if (run(data, "give", name, 2) != 1)
        bench_die("the row was not ours any more");
}

/* Does not wait for the disk, like rowlock's release. */
static void give_lazily(void *data, unsigned name)
{
    static const char *const statement[] = {"begin", "lazy", "give", "commit", NULL};

    run_together(data, statement, name);
}

/* ---- as a process ---------------------------------------------------------------------------- */

static void psql(const struct bench_place *place, struct bench_command *out, const char *first)
{
    bench_append(out, place->psql);
    bench_append(out, "-qXAt");
    bench_append(out, place->url);
    bench_append(out, "-c");
    bench_append(out, first);
}

static void run_advisory(const struct bench_place *place, struct bench_command *out)
{
    psql(place, out, "SELECT pg_advisory_lock(1)");
    bench_append(out, "-c");
    bench_append(out, "\\! true");
}

#define BY_HAND(lock, unlock) \
    .open = open_session, .acquire = lock, .release = unlock, .close = close_session

const struct bench_peer bench_peers_postgresql[] = {
    {"postgres-advisory", "postgresql", 0, BENCH_NOTHING,
     "pg_advisory_lock and pg_advisory_unlock by hand", BY_HAND(lock, unlock),
     .command = run_advisory},
    {"postgres-advisory-xact", "postgresql", 0, BENCH_NOTHING,
     "BEGIN, pg_advisory_xact_lock in one round trip, COMMIT by hand",
     BY_HAND(begin_advisory, commit)},
    {"postgres-for-update", "postgresql", 0, BENCH_RELEASE,
     "BEGIN, SELECT FOR UPDATE in one round trip, COMMIT by hand, of existing rows",
     .setup = create_rows, BY_HAND(begin_row, commit)},
    {"postgres-for-update-nosync", "postgresql-nosync", 0, BENCH_NOTHING, "the same with fsync=off",
     .setup = create_rows, BY_HAND(begin_row, commit), .variant = 1},
    {"postgres-update", "postgresql", 0, BENCH_BOTH,
     "a conditional UPDATE of an existing row, by hand; a refused client retries",
     .setup = create_rows, BY_HAND(take, give), .expires = 1},
    {"postgres-update-lazy", "postgresql", 0, BENCH_GRANT,
     "the same, but the UPDATE that releases it does not wait for the disk", .setup = create_rows,
     BY_HAND(take, give_lazily), .expires = 1, .variant = 1},
    {.name = NULL},
};
