/* SPDX-License-Identifier: Apache-2.0 */
/* rowlock through its public header: locks in a transaction, and leases. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peers/list.h"
#include "rowlock.h"
#ifdef ROWLOCK_WITH_POSTGRESQL
#include <libpq-fe.h>

#include "rowlock/postgresql.h"
#endif

struct session {
    struct rowlock_connection *connection;
    struct rowlock_lease *lease;
    struct rowlock_terms terms;
};

static void setup(const struct bench_place *place)
{
    struct rowlock_connection *connection = NULL;
    struct rowlock_options options = {.statement_ms = 60000};
    struct rowlock_error error;

    if (rowlock_open(place->url, &options, &connection, &error) ||
        rowlock_install(connection, NULL, &error))
        bench_die("%s", error.text);
    rowlock_close(connection);
}

/* Generous limits: on a small machine a thousand clients make the server slow, but it is not
   dead. */
static void *open_session(const struct bench_place *place, int client)
{
    struct rowlock_options options = {.connect_ms = 60000, .statement_ms = 60000};
    struct session *session = calloc(1, sizeof *session);
    struct rowlock_error error;

    (void)client;
    session->terms.wait_ms = -1;
    session->terms.ttl_ms = place->ttl_ms;
    if (rowlock_open(place->url, &options, &session->connection, &error))
        bench_die("%s", error.text);
    return session;
}

/* ---- a lock, a lease ------------------------------------------------------------------------- */

static void begin(void *data, unsigned name)
{
    struct session *session = data;
    struct rowlock_error error;
    char text[BENCH_NAME];
    struct rowlock_want want = {.name = text};

    bench_name(name, text);
    if (rowlock_begin(session->connection, &want, 1, -1, &error))
        bench_die("%s", error.text);
}

static void commit(void *data, unsigned name)
{
    struct session *session = data;
    struct rowlock_error error;

    (void)name;
    if (rowlock_commit(session->connection, &error))
        bench_die("%s", error.text);
}

static void acquire(void *data, unsigned name)
{
    struct session *session = data;
    struct rowlock_error error;
    char text[BENCH_NAME];
    struct rowlock_want want = {.name = text};

    bench_name(name, text);
    if (rowlock_acquire(session->connection, &want, 1, &session->terms, &session->lease, &error))
        bench_die("%s", error.text);
}

static void release(void *data, unsigned name)
{
    struct session *session = data;
    struct rowlock_error error;

    (void)name;
    if (rowlock_release(session->lease, &error))
        bench_die("%s", error.text);
    rowlock_lease_free(session->lease);
}

/* For the comparison with peers whose release is on disk: one more commit, which waits for the
   disk and for everything written before it. Applications do not need it. */
static void release_to_disk(void *data, unsigned name)
{
    release(data, name);
#ifdef ROWLOCK_WITH_POSTGRESQL
    struct session *session = data;
    PGconn *conn = rowlock_postgresql_handle(session->connection);
    PGresult *result = PQexec(conn, "SELECT pg_logical_emit_message(true, 'bench', '')");

    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        bench_die("PostgreSQL: %s", PQerrorMessage(conn));
    PQclear(result);
#endif
}

static void close_session(void *data)
{
    struct session *session = data;

    rowlock_close(session->connection);
    free(session);
}

static void run(const struct bench_place *place, struct bench_command *out, const char *option)
{
    bench_append(out, place->rowlock);
    bench_append(out, "--db");
    bench_append(out, place->url);
    bench_append(out, "run");
    if (option)
        bench_append(out, option);
    bench_append(out, "bench:process");
    bench_append(out, "--");
    bench_append(out, "true");
}

static void run_lease(const struct bench_place *place, struct bench_command *out)
{
    run(place, out, NULL);
}

static void run_lock(const struct bench_place *place, struct bench_command *out)
{
    run(place, out, "--tx");
}

/* The options of BENCH_DOCUMENTS_OPTIONS are words without spaces. */
static void append_words(struct bench_command *out, const char *words)
{
    char *word, *rest = NULL;

    snprintf(out->text, sizeof out->text, "%s", words);
    for (word = strtok_r(out->text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        bench_append(out, word);
}

static void load(const struct bench_place *place, struct bench_command *out, const char *option)
{
    static char count[16], report[600];

    snprintf(count, sizeof count, "%d", place->made_up);
    snprintf(report, sizeof report, "%s/refused", place->folder);
    bench_append(out, place->loader);
    bench_append(out, "--db");
    bench_append(out, place->url);
    bench_append(out, "--empty");
    bench_append(out, "--verify");
    bench_append(out, "--report");
    bench_append(out, report);
    if (option)
        bench_append(out, option);
    append_words(out, place->loader_options);
    if (place->documents[0] == 0)
        bench_append(out, "--generate");
    bench_append(out, place->documents[0] ? place->documents : count);
}

static void load_locked(const struct bench_place *place, struct bench_command *out)
{
    load(place, out, NULL);
}

static void load_unlocked(const struct bench_place *place, struct bench_command *out)
{
    load(place, out, "--no-lock");
}

#define SESSION .setup = setup, .open = open_session, .close = close_session
#define LOCK SESSION, .acquire = begin, .release = commit
#define LEASE SESSION, .acquire = acquire, .release = release, .command = run_lease, .expires = 1

const struct bench_peer bench_peers_rowlock[] = {
    {"rowlock-postgresql-lease", "postgresql", 1, BENCH_GRANT, "a lease on PostgreSQL", LEASE},
    {"rowlock-postgresql-lease-sync", "postgresql", 1, BENCH_BOTH,
     "the same, and a commit after the release that waits for the disk", SESSION,
     .acquire = acquire, .release = release_to_disk, .expires = 1},
    {"rowlock-postgresql-lease-nosync", "postgresql-nosync", 1, BENCH_NOTHING,
     "a lease on PostgreSQL with fsync=off", LEASE, .variant = 1},
    {"rowlock-postgresql-lock", "postgresql", 1, BENCH_NOTHING,
     "a lock in a transaction on PostgreSQL", LOCK, .command = run_lock, .load = load_locked},
    {"rowlock-postgresql-lock-nosync", "postgresql-nosync", 1, BENCH_NOTHING,
     "a lock in a transaction on PostgreSQL with fsync=off", LOCK, .command = run_lock,
     .variant = 1},
    {"postgres-no-lock", "postgresql", 0, BENCH_NOTHING,
     "the loader without locks: it may lose updates", .setup = setup, .load = load_unlocked},
    {"rowlock-mariadb-lease", "mariadb", 1, BENCH_BOTH, "a lease on MariaDB", LEASE},
    {"rowlock-mariadb-lock", "mariadb", 1, BENCH_NOTHING, "a lock in a transaction on MariaDB",
     LOCK, .command = run_lock, .load = load_locked},
    {"mariadb-no-lock", "mariadb", 0, BENCH_NOTHING,
     "the loader without locks: it may lose updates", .setup = setup, .load = load_unlocked},
    {"rowlock-sqlite-lease", "sqlite", 1, BENCH_NOTHING,
     "a lease on SQLite (WAL, synchronous=NORMAL)", LEASE},
    {"rowlock-sqlite-lock", "sqlite", 1, BENCH_NOTHING, "a lock in a transaction on SQLite", LOCK,
     .load = load_locked}, /* `run --tx` does not exist on SQLite */
    {"sqlite-no-lock", "sqlite", 0, BENCH_NOTHING,
     "the loader without rowlock: BEGIN IMMEDIATE, which locks the whole database", .setup = setup,
     .load = load_unlocked},
    {.name = NULL},
};
