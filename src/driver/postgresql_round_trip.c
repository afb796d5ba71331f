/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One round trip to PostgreSQL: sends everything in pipeline mode, then reads all answers.
 * Meanwhile the handle is non-blocking, so that a frozen server cannot delay us beyond the budget;
 * no blocking call of libpq is used here.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/postgresql_link.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/rows.h"

/* The progress of one round trip. */
struct progress {
    struct rowlock_link *link;
    struct rowlock_round_trip *round_trip;
    struct rowlock_cancel *cancel;
    struct rowlock_budget budget; /* its deadline moves */
    int64_t give_up_ms;
    size_t step;    /* the step whose answers are read */
    bool parsing;   /* the answer to its preparation is still due */
    bool unflushed; /* libpq has data that the socket did not accept yet */
};

/* ---- building the steps -------------------------------------------------------------------- */

static int find_prepared(struct rowlock_link *link, const struct rowlock_statement *statement,
                         size_t *place)
{
    struct rowlock_prepared *more;

    for (*place = 0; *place < link->cached; ++*place)
        if (link->cache[*place].statement == statement)
            return ROWLOCK_OK;
    more = realloc(link->cache, (link->cached + 1) * sizeof *more);
    if (!more)
        return ROWLOCK_ENOMEM;
    link->cache = more;
    more[link->cached] = (struct rowlock_prepared){.statement = statement};
    snprintf(more[link->cached].name, sizeof more->name, "rowlock_%zu", link->cached);
    link->cached++;
    return ROWLOCK_OK;
}

int rowlock__pg_add(struct rowlock_link *link, const struct rowlock_statement *statement,
                    struct rowlock_call *call, struct rowlock_error *error)
{
    struct rowlock_step *step;
    void *steps = rowlock__grown(link->steps, link->n_steps, &link->room, sizeof *step);

    if (!steps)
        return rowlock__no_memory(error);
    link->steps = steps;
    step = &link->steps[link->n_steps];
    *step = (struct rowlock_step){.statement = statement, .call = call};
    if (link->prepares) {
        if (find_prepared(link, statement, &step->prepared))
            return rowlock__no_memory(error);
        step->parse = !link->cache[step->prepared].ready;
        for (size_t i = 0; i < link->n_steps; i++)
            if (link->steps[i].statement == statement)
                step->parse = false; /* an earlier step of this round trip prepares it */
    }
    link->n_steps++;
    return ROWLOCK_OK;
}

/* ---- sending ------------------------------------------------------------------------------- */

#define PARAMETERS 16 /* more than any statement has */

struct parameters {
    const char *values[PARAMETERS];
    int lengths[PARAMETERS], formats[PARAMETERS];
    char numbers[PARAMETERS][24];
    int n;
};

static void bind(struct parameters *out, const struct rowlock_step *step)
{
    out->n = step->call ? (int)step->statement->parameters : 0;
    for (int i = 0; i < out->n; i++) {
        const struct rowlock_value *value = &step->call->values[i];

        out->lengths[i] = 0;
        out->formats[i] = 0;
        out->values[i] = NULL;
        if (value->type == ROWLOCK_INT) {
            snprintf(out->numbers[i], sizeof out->numbers[i], "%lld", (long long)value->number);
            out->values[i] = out->numbers[i];
        } else if (value->type == ROWLOCK_BYTES) {
            out->values[i] = value->bytes;
            out->lengths[i] = (int)value->length;
            out->formats[i] = 1;
        }
    }
}

/* ---- notices ------------------------------------------------------------------------------- */

/* libpq prints notices to stderr by default; a library must not print. This receives the server's
   last message before it closes an idle session, and the warning after a canceled wait for the
   synchronous standby, whose text depends on the server's language. */
void rowlock__pg_notice(void *data, const PGresult *result)
{
    struct rowlock_link *link = data;
    const char *state = PQ.PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *severity = PQ.PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *text = PQ.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *function = PQ.PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);

    if (function && strcmp(function, "SyncRepWaitForLSN") == 0)
        link->unconfirmed = true;
    if (!state || !severity || !text || strcmp(severity, "FATAL") != 0)
        return;
    snprintf(link->farewell_state, sizeof link->farewell_state, "%s", state);
    snprintf(link->farewell, sizeof link->farewell, "%s", text);
}

/* ---- failures ------------------------------------------------------------------------------ */

static void note_lost(struct progress *j)
{
    const char *text = PQ.PQerrorMessage(j->link->conn);

    j->round_trip->lost = true;
    if (j->round_trip->text[0])
        return;
    j->round_trip->failed = j->step;
    if (j->link->farewell[0]) {
        snprintf(j->round_trip->text, sizeof j->round_trip->text, "%s", j->link->farewell);
        memcpy(j->round_trip->sqlstate, j->link->farewell_state, sizeof j->round_trip->sqlstate);
    } else {
        snprintf(j->round_trip->text, sizeof j->round_trip->text, "%s",
                 text && *text ? text : "the server closed the connection");
    }
}

static void note_error(struct progress *j, const PGresult *result)
{
    const char *state = PQ.PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = PQ.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *detail = PQ.PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
    const char *hint = PQ.PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);

    if (j->round_trip->text[0])
        return;            /* follows from the first error */
    if (!state || !text) { /* libpq's own error; if the connection is lost, note_lost reports it */
        if (PQ.PQstatus(j->link->conn) != CONNECTION_OK)
            return;
        j->round_trip->failed = j->step;
        snprintf(j->round_trip->text, sizeof j->round_trip->text, "%s",
                 PQ.PQerrorMessage(j->link->conn));
        return;
    }
    j->round_trip->failed = j->step;
    j->round_trip->reported = true;
    snprintf(j->round_trip->sqlstate, sizeof j->round_trip->sqlstate, "%s", state);
    snprintf(j->round_trip->text, sizeof j->round_trip->text, "%s%s%s%s%s", text,
             detail ? ": " : "", detail ? detail : "", hint ? "; " : "", hint ? hint : "");
}

/* ---- reading ------------------------------------------------------------------------------- */

/* Cancels the statement, and repeats that, because a request that arrives between two statements is
   lost. False: the server does not answer. */
static bool budget_ended(struct progress *j, enum rowlock_wake wake)
{
    int64_t now = rowlock__now_ms();

    if (!j->round_trip->reason) {
        j->round_trip->reason =
            wake == ROWLOCK_WAKE_INTERRUPT ? ROWLOCK_ECANCELED : ROWLOCK_ETIMEDOUT;
        j->budget.interrupt_fd = -1;
        j->give_up_ms = rowlock__give_up_ms(&j->budget, now);
    } else if (now >= j->give_up_ms) {
        return false;
    }
    if (!j->cancel || rowlock__pg_cancel_done(j->cancel, now)) {
        rowlock__pg_cancel_free(j->cancel);
        j->cancel = rowlock__pg_cancel(j->link->conn);
    }
    j->budget.deadline_ms = rowlock__least(now + ROWLOCK_AGAIN_MS, j->give_up_ms);
    return true;
}

/* Waits until PQgetResult will not block. False: the session is given up. */
static bool wait_for_answer(struct progress *j)
{
    PGconn *conn = j->link->conn;

    while (PQ.PQstatus(conn) == CONNECTION_OK && PQ.PQisBusy(conn)) {
        short events = (short)(POLLIN | (j->unflushed ? POLLOUT : 0));
        enum rowlock_wake wake = rowlock__wait_fd(PQ.PQsocket(conn), events, j->budget.interrupt_fd,
                                                  j->budget.deadline_ms);

        if (wake != ROWLOCK_WAKE_READY) {
            if (!budget_ended(j, wake))
                return false;
            continue;
        }
        if (j->unflushed)
            j->unflushed = PQ.PQflush(conn) == 1;
        if (!PQ.PQconsumeInput(conn))
            return true; /* PQgetResult reports the reason */
    }
    return true;
}

#define BYTEA 17 /* the type's OID, the same on every server */

/* bytea arrives escaped, in one of two ways: `*decoded` is its copy, to be freed. */
static struct rowlock_value take_column(const PGresult *result, int row, int i,
                                        unsigned char **decoded)
{
    struct rowlock_value value = {.type = ROWLOCK_NULL};

    *decoded = NULL;
    if (PQ.PQgetisnull(result, row, i))
        return value;
    value.type = ROWLOCK_BYTES;
    value.bytes = PQ.PQgetvalue(result, row, i);
    value.length = (size_t)PQ.PQgetlength(result, row, i);
    if (PQ.PQftype(result, i) != BYTEA)
        return value;
    *decoded = PQ.PQunescapeBytea((const unsigned char *)value.bytes, &value.length);
    value.bytes = (const char *)*decoded;
    value.type = *decoded ? ROWLOCK_BYTES : ROWLOCK_NULL;
    return value;
}

static void take_rows(const PGresult *result, struct rowlock_call *call)
{
    struct rowlock_value columns[ROWLOCK_COLUMNS];
    unsigned char *decoded[ROWLOCK_COLUMNS];
    int rows = PQ.PQntuples(result), n = PQ.PQnfields(result);

    if (n > ROWLOCK_COLUMNS)
        n = ROWLOCK_COLUMNS;
    for (int row = 0; row < rows; row++) {
        for (int i = 0; i < n; i++)
            columns[i] = take_column(result, row, i, &decoded[i]);
        call->row(call->data, columns, (unsigned)n);
        for (int i = 0; i < n; i++)
            PQ.PQfreemem(decoded[i]);
    }
}

/* Processes the answer to one statement. */
static void take_answer(struct progress *j, PGresult *result)
{
    struct rowlock_step *step;

    if (j->step >= j->link->n_steps)
        return;
    step = &j->link->steps[j->step];
    if (j->parsing) {
        j->link->cache[step->prepared].ready = true;
        return;
    }
    if (step->call) {
        step->call->affected = strtoll(PQ.PQcmdTuples(result), NULL, 10);
        if (step->call->row && PQ.PQresultStatus(result) == PGRES_TUPLES_OK)
            take_rows(result, step->call);
    } else if (strcmp(step->statement->text, "COMMIT") == 0 &&
               strcmp(PQ.PQcmdStatus(result), "ROLLBACK") == 0) {
        j->round_trip->rolled_back = true;
    }
}

/* Reads until the answer to the sync (pipeline) or the end (script). */
static void read_answers(struct progress *j, bool pipeline)
{
    PGconn *conn = j->link->conn;

    for (;;) {
        PGresult *result;
        ExecStatusType status;

        if (!wait_for_answer(j)) {
            snprintf(j->round_trip->text, sizeof j->round_trip->text, "the server does not answer");
            j->round_trip->sqlstate[0] = '\0';
            j->round_trip->lost = true;
            return;
        }
        result = PQ.PQgetResult(conn);
        status = PQ.PQresultStatus(result);
        if (!result && (!pipeline || PQ.PQstatus(conn) != CONNECTION_OK))
            break;
        if (!result && j->parsing) {
            j->parsing = false;
        } else if (!result) {
            j->step++;
            j->parsing = j->step < j->link->n_steps && j->link->steps[j->step].parse;
        } else if (status == PGRES_FATAL_ERROR) {
            note_error(j, result);
        } else if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
            take_answer(j, result);
        }
        PQ.PQclear(result);
        if (status == PGRES_PIPELINE_SYNC && result)
            break;
    }
    if (PQ.PQstatus(conn) != CONNECTION_OK)
        note_lost(j);
}

/* ---- the round trip ------------------------------------------------------------------------ */

static void begin_round_trip(struct progress *j, struct rowlock_link *link,
                             const struct rowlock_budget *budget,
                             struct rowlock_round_trip *round_trip)
{
    *round_trip = (struct rowlock_round_trip){.failed = link->n_steps};
    *j = (struct progress){.link = link, .round_trip = round_trip, .budget = *budget};
    j->parsing = link->n_steps > 0 && link->steps[0].parse;
    link->unconfirmed = false;
    PQ.PQsetnonblocking(link->conn, 1);
}

static void end_round_trip(struct progress *j)
{
    /* A canceled COMMIT that waits for its synchronous standby succeeds, but only on this server: a
       fail-over would undo it. So the session is given up, as if it had been lost meanwhile.
       Notices on the caller's handle are the caller's, because libpq cannot restore a notice
       receiver. */
    if (j->link->unconfirmed && !j->round_trip->lost && !j->round_trip->text[0]) {
        j->round_trip->lost = true;
        snprintf(j->round_trip->text, sizeof j->round_trip->text,
                 "the synchronous standby did not confirm it in time: the primary has committed, "
                 "but a fail-over would undo that");
    }
    /* a cancel request still under way would hit the next statement, so the session is given up */
    if (j->cancel && !j->round_trip->lost && !rowlock__pg_cancel_done(j->cancel, j->give_up_ms)) {
        j->round_trip->lost = true;
        snprintf(j->round_trip->text, sizeof j->round_trip->text,
                 "the server does not answer a cancel request");
    }
    rowlock__pg_cancel_free(j->cancel);
    if (j->round_trip->lost)
        j->link->dead = true;
    else
        PQ.PQsetnonblocking(j->link->conn, 0);
}

void rowlock__pg_round_trip(struct rowlock_link *link, const struct rowlock_budget *budget,
                            struct rowlock_round_trip *round_trip)
{
    struct progress j;
    bool sent;

    /* the only step is a COMMIT or another text without parameters, for which the simple protocol
       is cheaper */
    if (link->n_steps == 1 && !link->steps[0].call && !link->prepares) {
        rowlock__pg_script(link, link->steps[0].statement->text, budget, round_trip);
        return;
    }
    begin_round_trip(&j, link, budget, round_trip);
    sent = PQ.PQenterPipelineMode(link->conn);
    for (size_t i = 0; sent && i < link->n_steps; i++) {
        const struct rowlock_step *step = &link->steps[i];
        const char *text = step->statement->text, *name;
        struct parameters p;

        bind(&p, step);
        if (!link->prepares) {
            sent = PQ.PQsendQueryParams(link->conn, text, p.n, NULL, p.values, p.lengths, p.formats,
                                        0);
            continue;
        }
        name = link->cache[step->prepared].name;
        sent = (!step->parse || PQ.PQsendPrepare(link->conn, name, text, 0, NULL)) &&
               PQ.PQsendQueryPrepared(link->conn, name, p.n, p.values, p.lengths, p.formats, 0);
    }
    sent = sent && PQ.PQpipelineSync(link->conn);
    if (sent) {
        j.unflushed = PQ.PQflush(link->conn) == 1;
        read_answers(&j, true);
    } else {
        note_lost(&j); /* out of memory halfway: the pipeline cannot be ended properly */
    }
    if (!round_trip->lost)
        PQ.PQexitPipelineMode(link->conn);
    end_round_trip(&j);
}

void rowlock__pg_script(struct rowlock_link *link, const char *text,
                        const struct rowlock_budget *budget, struct rowlock_round_trip *round_trip)
{
    struct progress j;

    begin_round_trip(&j, link, budget, round_trip);
    if (PQ.PQsendQuery(link->conn, text)) {
        j.unflushed = PQ.PQflush(link->conn) == 1;
        read_answers(&j, false);
    } else {
        note_lost(&j);
    }
    end_round_trip(&j);
}
