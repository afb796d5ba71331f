/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver for PostgreSQL, by libpq. A batch is one round trip in pipeline mode, with its BEGIN
 * and COMMIT. On own connections statements are prepared, in the round trip of their first use. On
 * the caller's handle nothing is prepared or changed, and its mode is restored.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/failure.h"
#include "driver/postgresql_link.h"
#include "system/system.h"
#include "util/clock.h"
#include "util/error.h"

static const struct rowlock_statement commit_statement = {"commit", "COMMIT", 0, NULL, NULL};
static const struct rowlock_statement rollback_statement = {"rollback", "ROLLBACK", 0, NULL, NULL};

static enum rowlock_state pg_state(const struct rowlock_link *link)
{
    if (link->dead || PQ.PQstatus(link->conn) != CONNECTION_OK)
        return ROWLOCK_STATE_DEAD;
    switch (PQ.PQtransactionStatus(link->conn)) {
    case PQTRANS_IDLE:
        return ROWLOCK_STATE_IDLE;
    case PQTRANS_INTRANS:
        return ROWLOCK_STATE_OPEN;
    case PQTRANS_INERROR:
        return ROWLOCK_STATE_ABORTED;
    case PQTRANS_ACTIVE:
        return ROWLOCK_STATE_ASK; /* the caller's own command is under way */
    case PQTRANS_UNKNOWN:
        break;
    }
    return ROWLOCK_STATE_DEAD;
}

int rowlock__pg_usable(const struct rowlock_link *link, struct rowlock_error *error)
{
    if (link->dead || PQ.PQstatus(link->conn) != CONNECTION_OK)
        return rowlock__left(error, rowlock__fail(error, ROWLOCK_ECONN, "the connection is lost"),
                             ROWLOCK_TX_DEAD);
    if (PQ.PQpipelineStatus(link->conn) != PQ_PIPELINE_OFF)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "the handle is in pipeline mode; leave it first");
    if (PQ.PQisnonblocking(link->conn))
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "the handle is nonblocking; PQsetnonblocking(handle, 0) first");
    if (PQ.PQtransactionStatus(link->conn) == PQTRANS_ACTIVE || PQ.PQisBusy(link->conn))
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "a command, COPY or result is pending on the handle; finish it first");
    return ROWLOCK_OK;
}

/* ---- the result of a round trip -------------------------------------------------------------- */

/* Statements that the server no longer knows (DISCARD ALL), or whose result changed when the schema
   was reinstalled, are prepared again. True: nothing was done and no transaction was lost, so the
   round trip can be repeated. */
static bool forget_prepared(struct rowlock_link *link, const struct rowlock_round_trip *round_trip)
{
    if (!link->prepares || round_trip->lost || round_trip->failed >= link->n_steps)
        return false;
    if (strcmp(round_trip->sqlstate, "0A000") == 0 && link->steps[round_trip->failed].call)
        link->cache[link->steps[round_trip->failed].prepared].statement =
            NULL; /* next use: a new name */
    if (strcmp(round_trip->sqlstate, "26000") != 0)
        return false;
    for (size_t i = 0; i < link->cached; i++)
        link->cache[i].ready = false;
    return round_trip->failed == 0 && pg_state(link) == ROWLOCK_STATE_IDLE;
}

static int conclude(struct rowlock_link *link, const struct rowlock_round_trip *round_trip,
                    bool had_one, struct rowlock_outcome *outcome, struct rowlock_error *error)
{
    const struct rowlock_step *last = link->n_steps ? &link->steps[link->n_steps - 1] : NULL;
    bool failed = round_trip->lost || round_trip->text[0];
    /* The server may have executed the COMMIT, or a statement alone: it was sent, and no answer
       proves that the server stopped before it. */
    bool unknown =
        last && !link->hung_up &&
        (link->alone ? !round_trip->reported
                     : last->statement == &commit_statement &&
                           (!round_trip->reported || round_trip->failed >= link->n_steps - 1));
    int code = ROWLOCK_OK;

    outcome->sent_commit = unknown;
    had_one = had_one && (failed || round_trip->rolled_back);
    outcome->left = rowlock__left_in(pg_state(link), had_one ? ROWLOCK_TX_GONE : ROWLOCK_TX_NONE);
    if (!failed && !round_trip->rolled_back)
        return ROWLOCK_OK;
    if (!failed) {
        code = rowlock__fail(error, ROWLOCK_EABORTED,
                             "the server rolled back instead of committing, because an earlier "
                             "statement of the transaction had failed");
        return rowlock__left(error, code, outcome->left);
    }
    code = rowlock__failure(error, "postgresql", round_trip->sqlstate, 0, round_trip->text);
    if (round_trip->lost && unknown) {
        rowlock__wrap_error(error, ROWLOCK_EUNKNOWN,
                            link->unconfirmed ? "COMMIT" : "connection lost during COMMIT");
        code = ROWLOCK_EUNKNOWN;
    } else if (round_trip->reason &&
               (round_trip->lost || strcmp(round_trip->sqlstate, "57014") == 0)) {
        code = round_trip->reason;
    } else if (round_trip->lost && !round_trip->sqlstate[0]) {
        code = rowlock__fail(error, ROWLOCK_ECONN, "%s", round_trip->text);
    }
    if (error)
        error->code = code;
    return rowlock__left(error, code, outcome->left);
}

/* ---- run ----------------------------------------------------------------------------------- */

/* Fails after an interrupt or a deadline, so that nothing is sent. With a COMMIT, also records
   whether the server has hung up already, because it will not receive that COMMIT. */
static int still_wanted(struct rowlock_link *link, unsigned transaction_flags,
                        const struct rowlock_budget *budget, struct rowlock_error *error)
{
    int fd = budget->interrupt_fd;

    link->alone = transaction_flags & ROWLOCK_ALONE;
    link->hung_up = transaction_flags & (ROWLOCK_COMMIT | ROWLOCK_ALONE) &&
                    rowlock__has_hung_up(PQ.PQsocket(link->conn));
    if (fd >= 0 && rowlock__wait_fd(-1, 0, fd, 0) == ROWLOCK_WAKE_INTERRUPT)
        return rowlock__fail(error, ROWLOCK_ECANCELED, "interrupted");
    if (budget->deadline_ms != ROWLOCK_NEVER && rowlock__now_ms() >= budget->deadline_ms)
        return rowlock__fail(error, ROWLOCK_ETIMEDOUT, "timed out before the statement was sent");
    return ROWLOCK_OK;
}

static int pack(struct rowlock_link *link, unsigned transaction_flags, struct rowlock_call *calls,
                size_t n, struct rowlock_error *error)
{
    const struct rowlock_statement *begin = &link->dialect->statements[ROWLOCK_SQL_BEGIN];
    int code = ROWLOCK_OK;

    link->n_steps = 0;
    if (transaction_flags & ROWLOCK_BEGIN)
        code = rowlock__pg_add(link, begin, NULL, error);
    for (size_t i = 0; !code && i < n; i++)
        code = rowlock__pg_add(link, calls[i].statement, &calls[i], error);
    if (!code && transaction_flags & ROWLOCK_COMMIT)
        code = rowlock__pg_add(link, &commit_statement, NULL, error);
    return code;
}

static int pg_run(struct rowlock_link *link, unsigned transaction_flags, struct rowlock_call *calls,
                  size_t n, const struct rowlock_budget *budget, struct rowlock_outcome *outcome,
                  struct rowlock_error *error)
{
    struct rowlock_round_trip round_trip;
    bool had_one = transaction_flags & ROWLOCK_BEGIN || pg_state(link) == ROWLOCK_STATE_OPEN ||
                   pg_state(link) == ROWLOCK_STATE_ABORTED;
    int code = rowlock__pg_usable(link, error);

    outcome->sent_commit = false;
    if (!code)
        code = still_wanted(link, transaction_flags, budget, error);
    if (!code)
        code = pack(link, transaction_flags, calls, n, error);
    if (code) {
        outcome->left = rowlock__left_in(pg_state(link), ROWLOCK_TX_NONE);
        return rowlock__left(error, code, outcome->left);
    }
    rowlock__pg_round_trip(link, budget, &round_trip);
    if (forget_prepared(link, &round_trip) &&
        pack(link, transaction_flags, calls, n, NULL) == ROWLOCK_OK)
        rowlock__pg_round_trip(link, budget, &round_trip);
    /* BEGIN itself failed: there was nothing to lose */
    if (transaction_flags & ROWLOCK_BEGIN && round_trip.reported && round_trip.failed == 0)
        had_one = false;
    return conclude(link, &round_trip, had_one, outcome, error);
}

static int pg_rollback(struct rowlock_link *link, const struct rowlock_budget *budget,
                       struct rowlock_error *error)
{
    /* an interrupted caller must still clean up */
    struct rowlock_budget cleaning = {budget->deadline_ms, -1, budget->give_up_ms};
    struct rowlock_outcome outcome = {0};
    struct rowlock_round_trip round_trip;
    int code = rowlock__pg_usable(link, error);

    if (code || pg_state(link) == ROWLOCK_STATE_IDLE)
        return code;
    do { /* a cancel that comes too late for one statement hits the next */
        link->n_steps = 0;
        code = rowlock__pg_add(link, &rollback_statement, NULL, error);
        if (code)
            return code;
        rowlock__pg_round_trip(link, &cleaning, &round_trip);
        code = conclude(link, &round_trip, false, &outcome, error);
    } while (code == ROWLOCK_ETIMEDOUT && pg_state(link) == ROWLOCK_STATE_ABORTED &&
             rowlock__now_ms() < budget->deadline_ms);
    return code;
}

static int pg_script(struct rowlock_link *link, const char *text,
                     const struct rowlock_budget *budget, struct rowlock_error *error)
{
    struct rowlock_outcome outcome = {0};
    struct rowlock_round_trip round_trip;
    bool had_one = pg_state(link) == ROWLOCK_STATE_OPEN;
    int code = rowlock__pg_usable(link, error);

    if (!code)
        code = still_wanted(link, ROWLOCK_INSIDE, budget, error);
    if (code)
        return code;
    link->n_steps = 0;
    rowlock__pg_script(link, text, budget, &round_trip);
    return conclude(link, &round_trip, had_one, &outcome, error);
}

/* ---- open and close ------------------------------------------------------------------------ */

static void pg_close(struct rowlock_link *link)
{
    if (!link)
        return;
    if (!link->borrowed && link->conn) {
        PQ.PQsetnonblocking(link->conn, 1); /* closing must not wait for a frozen server */
        PQ.PQfinish(link->conn);
    }
    free(link->cache);
    free(link->steps);
    free(link);
}

static int pg_open(const struct rowlock_source *source, const struct rowlock_budget *budget,
                   struct rowlock_link **out, const struct rowlock_dialect **dialect,
                   struct rowlock_error *error)
{
    struct rowlock_link *link;
    const char *version;
    int code = rowlock__load(&rowlock__postgresql_client, error);

    if (code)
        return code;
    link = calloc(1, sizeof *link);
    if (!link)
        return rowlock__no_memory(error);
    link->borrowed = source->handle != NULL;
    link->conn = source->handle;
    link->dialect = &rowlock__dialect_postgresql;
    code = link->borrowed ? rowlock__pg_usable(link, error)
                          : rowlock__pg_connect(link, source->url, budget, error);
    if (code) {
        pg_close(link);
        return code;
    }
    if (link->borrowed) { /* the server reported it on connecting: sends nothing on the handle */
        version = PQ.PQparameterStatus(link->conn, "server_version");
        if (version && strstr(version, YUGABYTEDB))
            link->dialect = &rowlock__dialect_yugabytedb;
    }
    *out = link;
    *dialect = link->dialect;
    return ROWLOCK_OK;
}

static bool pg_speaks_utf8(const struct rowlock_link *link)
{
    const char *session = PQ.PQparameterStatus(link->conn, "client_encoding");
    const char *database = PQ.PQparameterStatus(link->conn, "server_encoding");

    return session && strcmp(session, "UTF8") == 0 && database &&
           (strcmp(database, "UTF8") == 0 || strcmp(database, "SQL_ASCII") == 0);
}

static int64_t pg_backend_id(const struct rowlock_link *link)
{
    return PQ.PQbackendPID(link->conn);
}

static int pg_socket(const struct rowlock_link *link)
{
    return link->dead ? -1 : PQ.PQsocket(link->conn);
}

static void *pg_handle(const struct rowlock_link *link)
{
    return link->conn;
}

static void pg_library(char *out, size_t size)
{
    int version = rowlock__postgresql.PQlibVersion();

    snprintf(out, size, "libpq %d.%d", version / 10000, version % 10000);
}

extern const struct rowlock_driver rowlock__driver_postgresql;
const struct rowlock_driver rowlock__driver_postgresql = {
    .name = "postgresql",
    .schemes = "postgresql,postgres",
    .open = pg_open,
    .close = pg_close,
    .run = pg_run,
    .rollback = pg_rollback,
    .state = pg_state,
    .script = pg_script,
    .speaks_utf8 = pg_speaks_utf8,
    .socket = pg_socket,
    .backend_id = pg_backend_id,
    .handle = pg_handle,
    .client = &rowlock__postgresql_client,
    .library = pg_library,
};
