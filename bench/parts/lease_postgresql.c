/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acquiring and releasing a lease on PostgreSQL, compared with the minimum that one would write by
 * hand: a conditional UPDATE of an existing row, and the UPDATE that empties it. Our release does
 * not wait for the disk, so there are two competitors: one whose second UPDATE waits, and one whose
 * does not.
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include "rate.h"
#include "rowlock.h"
#include "rowlock/postgresql.h"

struct session {
    PGconn *conn;
    struct rowlock_connection *connection;
    int worker;
};

static void check(PGconn *conn, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        bench_die("%s", PQerrorMessage(conn));
    PQclear(result);
}

static void *open_session(const char *url, int worker)
{
    struct session *session = calloc(1, sizeof *session);

    session->worker = worker;
    session->connection = bench_connect(url);
    session->conn = rowlock_postgresql_handle(session->connection);
    check(session->conn,
          PQprepare(session->conn, "a",
                    "UPDATE bench_lease SET owner = $2, expires = clock_timestamp() + interval "
                    "'30 s' WHERE name = $1 AND (owner IS NULL OR expires <= clock_timestamp())",
                    2, NULL));
    check(session->conn,
          PQprepare(session->conn, "r",
                    "UPDATE bench_lease SET owner = NULL WHERE name = $1 AND owner = $2", 2, NULL));
    check(session->conn, PQprepare(session->conn, "b", "BEGIN", 0, NULL));
    check(session->conn,
          PQprepare(session->conn, "s", "SET LOCAL synchronous_commit = off", 0, NULL));
    check(session->conn, PQprepare(session->conn, "c", "COMMIT", 0, NULL));
    return session;
}

static void close_session(void *data)
{
    struct session *session = data;

    rowlock_close(session->connection);
    free(session);
}

static void name_of(const struct session *session, unsigned long i, char *out, size_t size)
{
    snprintf(out, size, "bench:%d:%lu", session->worker, i % 100);
}

static void ours(void *data, unsigned long i)
{
    struct session *session = data;
    char name[40];

    name_of(session, i, name, sizeof name);
    bench_pair(session->connection, name);
}

static void update(struct session *session, const char *statement, const char *name)
{
    const char *values[] = {name, "0123456789abcdef0123456789abcdef"};
    PGresult *result = PQexecPrepared(session->conn, statement, 2, values, NULL, NULL, 0);

    if (PQcmdTuples(result)[0] != '1')
        bench_die("by hand: not one row");
    check(session->conn, result);
}

static void by_hand(void *data, unsigned long i)
{
    char name[40];

    name_of(data, i, name, sizeof name);
    update(data, "a", name);
    update(data, "r", name);
}

/* The second UPDATE does not wait for the disk. Both go in one pipeline, like ours. */
static void by_hand_lazy(void *data, unsigned long i)
{
    struct session *session = data;
    const char *values[] = {NULL, "0123456789abcdef0123456789abcdef"};
    char name[40];
    PGresult *result;

    name_of(session, i, name, sizeof name);
    values[0] = name;
    update(session, "a", name);
    PQenterPipelineMode(session->conn);
    PQsendQueryPrepared(session->conn, "b", 0, NULL, NULL, NULL, 0);
    PQsendQueryPrepared(session->conn, "s", 0, NULL, NULL, NULL, 0);
    PQsendQueryPrepared(session->conn, "r", 2, values, NULL, NULL, 0);
    PQsendQueryPrepared(session->conn, "c", 0, NULL, NULL, NULL, 0);
    PQpipelineSync(session->conn);
    for (;;) {
        result = PQgetResult(session->conn);
        if (!result)
            continue;
        if (PQresultStatus(result) == PGRES_PIPELINE_SYNC)
            break;
        check(session->conn, result);
    }
    PQclear(result);
    PQexitPipelineMode(session->conn);
}

static void create_table(const char *url)
{
    PGconn *conn = PQconnectdb(url);

    check(conn, PQexec(conn, "DROP TABLE IF EXISTS bench_lease"));
    check(conn, PQexec(conn, "CREATE TABLE bench_lease (name text PRIMARY KEY, owner text, "
                             "expires timestamptz) WITH (fillfactor = 50)"));
    check(conn, PQexec(conn, "INSERT INTO bench_lease SELECT 'bench:' || w || ':' || i FROM "
                             "generate_series(0, 63) w, generate_series(0, 99) i"));
    PQfinish(conn);
}

int main(int argc, char **argv)
{
    static const struct {
        int workers;
        double aim;
    } runs[] = {{1, 0.9}, {8, 0.9}, {32, 0.75}};
    int rounds = argc > 2 ? atoi(argv[2]) : 41;

    if (argc < 2)
        bench_die("usage: lease_postgresql URL [ROUNDS]");
    create_table(argv[1]);
    bench_headline();
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct comparison comparison = {"lease acquire+release / conditional UPDATE pair",
                                        open_session,
                                        ours,
                                        by_hand,
                                        close_session,
                                        runs[i].aim};

        bench_compare(&comparison, argv[1], runs[i].workers, rounds, 100);
        comparison.title = "the same / a pair whose release does not wait for the disk";
        comparison.theirs = by_hand_lazy;
        bench_compare(&comparison, argv[1], runs[i].workers, rounds, 100);
    }
    return 0;
}
