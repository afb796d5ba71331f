/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executes the steps of the acquire machine on a server with functions: one call per step. On
 * PostgreSQL BEGIN and COMMIT travel with it; MariaDB's procedures commit by themselves. But a
 * grant that had to wait for the name lock is committed in a round trip of its own, so that a
 * waiter that died gets no lease.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lease/request.h"
#include "lock/refusal.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/renewal.h"

/* Filled from the row of an answer. */
struct answer {
    struct rowlock_reply *reply;
    struct rowlock_refused *refused;
    int rows;
};

/* One call and its transaction. */
struct round_trip {
    enum rowlock_statement_id id;
    struct rowlock_value values[12];
    rowlock_row *row;
    int64_t limit_ms; /* how long the server may wait; 0: not at all; < 0: no limit */
    bool server_ends; /* the server enforces limit_ms on the whole statement */
    bool alone;       /* without BEGIN: session locks only, or a statement that commits itself */
    bool uninterruptible; /* not to be interrupted */
    bool stays_open;      /* on success the client commits */
};

/* ---- answers --------------------------------------------------------------------------------- */

/* status, name, token, number, detail */
static void grant_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct answer *answer = data;

    if (n < 5 || answer->rows++)
        return;
    answer->reply->status = (enum rowlock_status)rowlock__value_number(&columns[0]);
    answer->reply->token = rowlock__value_number(&columns[2]);
    answer->reply->number = rowlock__value_number(&columns[3]);
    rowlock__column_text(&columns[1], answer->refused->name, sizeof answer->refused->name);
    rowlock__column_text(&columns[4], answer->refused->detail, sizeof answer->refused->detail);
}

static void token_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct answer *answer = data;

    if (n < 1 || columns[0].type == ROWLOCK_NULL || answer->rows++)
        return;
    answer->reply->token = rowlock__value_number(&columns[0]);
}

/* status, number, before, free, expires_ms, locked, name, detail */
static void place_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct answer *answer = data;

    if (n < 8 || answer->rows++)
        return;
    answer->reply->status = (enum rowlock_status)rowlock__value_number(&columns[0]);
    answer->reply->number = rowlock__value_number(&columns[1]);
    answer->reply->before = rowlock__value_number(&columns[2]);
    answer->reply->free = rowlock__value_number(&columns[3]) != 0;
    answer->reply->expires_ms = rowlock__value_number(&columns[4]);
    answer->reply->locked = rowlock__value_number(&columns[5]) != 0;
    rowlock__column_text(&columns[6], answer->refused->name, sizeof answer->refused->name);
    rowlock__column_text(&columns[7], answer->refused->detail, sizeof answer->refused->detail);
}

static void number_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct answer *answer = data;

    if (n < 1 || answer->rows++)
        return;
    answer->reply->number = rowlock__value_number(&columns[0]);
}

/* ---- the calls ------------------------------------------------------------------------------- */

/* a grant that may wait, even briefly, stays open for the client's COMMIT */
#define HOOK_MS 250
/* The server ends the whole statement of a longer wait. A shorter one is ended by the procedure
   (rowlock_grant_answer), because a slow server needs more time for the rest of the statement. */
#define LONG_MS 1000
#define ALL_LOST -1 /* SESSION_UNLOCK: of all that a failed call left; no step of the machine */

/* GRANT, and TURN, which has two parameters more. The most frequent grant, that of a free name, has
   statements of its own; with `by_function` the function decides that too. The client commits a
   grant that may wait on a server, because the server may perform it after its client has died. */
static struct round_trip grant(const struct rowlock_request *r, const struct rowlock_step *step,
                               int64_t deadline_ms, bool by_function)
{
    struct rowlock_connection *connection = r->connection;
    const struct rowlock_value *verification = connection->verification;
    struct rowlock_value session = rowlock__int_value(rowlock__marking_session(connection)),
                         keeper = r->keeper_pid ? rowlock__int_value(r->keeper_pid)
                                                : rowlock__text_value(NULL);
    bool on_server = connection->dialect->procedural, turns = step->act == ROWLOCK_ACT_TURN;
    int64_t wait_ms = step->limit_ms, left_ms; /* how long the server may wait */

    if (!turns && on_server && wait_ms == 0 && r->hook) {
        wait_ms = HOOK_MS;
    } else if (!turns && !on_server && deadline_ms != ROWLOCK_NEVER) {
        /* on a file another writer is done in a moment, so a step waits for it if the caller may */
        left_ms = rowlock__most(deadline_ms - rowlock__now_ms(), 0);
        wait_ms = wait_ms > 0 ? rowlock__least(wait_ms, left_ms) : left_ms;
    }
    if (!by_function && !turns && wait_ms == 0 && !step->ticket && r->n == 1 &&
        r->want[0].mode == ROWLOCK_EXCLUSIVE && connection->verified > 0 &&
        rowlock__sql(connection, ROWLOCK_SQL_GRANT_FREE) &&
        (!connection->driver->speaks_utf8 || connection->driver->speaks_utf8(connection->link)))
        return (struct round_trip){
            .id = ROWLOCK_SQL_GRANT_FREE,
            .values = {rowlock__text_value(r->want[0].name), rowlock__text_value(r->owner),
                       rowlock__int_value(r->ttl_ms), rowlock__text_value(r->host), keeper,
                       rowlock__text_value(r->command), rowlock__text_value(r->note), session,
                       verification[0], verification[1], verification[2], verification[3]},
            .row = token_row,
            .alone = true};
    return (struct round_trip){
        .id = turns ? ROWLOCK_SQL_TURN : ROWLOCK_SQL_GRANT,
        .values = {rowlock__bytes_value(r->packed, r->length), rowlock__text_value(r->owner),
                   rowlock__int_value(r->ttl_ms), rowlock__int_value(wait_ms),
                   rowlock__int_value(step->ticket), session, rowlock__text_value(r->host), keeper,
                   rowlock__text_value(r->command), rowlock__text_value(r->note),
                   rowlock__int_value(step->token), rowlock__int_value(step->number)},
        .row = grant_row,
        .limit_ms = wait_ms,
        .server_ends = !turns && wait_ms >= LONG_MS,
        .stays_open = on_server ? turns || wait_ms != 0
                                : r->hook || connection->installed.technique == ROWLOCK_INSERT};
}

/* .id 0: the step is not one of the database. */
static struct round_trip round_trip_of(const struct rowlock_request *r,
                                       const struct rowlock_step *step, int64_t deadline_ms)
{
    struct rowlock_value names = rowlock__bytes_value(r->packed, r->length),
                         owner = rowlock__text_value(r->owner),
                         session = rowlock__int_value(rowlock__marking_session(r->connection)),
                         ticket = rowlock__int_value(step->ticket),
                         number = rowlock__int_value(step->number),
                         limit = rowlock__int_value(step->limit_ms),
                         good = rowlock__int_value(step->good_ms);

    switch (step->act) {
    case ROWLOCK_ACT_GRANT:
    case ROWLOCK_ACT_TURN:
        return grant(r, step, deadline_ms, false);
    case ROWLOCK_ACT_ENQUEUE:
        return (struct round_trip){
            .id = ROWLOCK_SQL_ENQUEUE,
            .values = {names, owner, session, good, rowlock__text_value(r->host),
                       rowlock__int_value(r->pid), rowlock__text_value(r->command),
                       rowlock__text_value(r->note)},
            .row = grant_row};
    case ROWLOCK_ACT_PLACE:
        return (struct round_trip){
            .id = ROWLOCK_SQL_PLACE, .values = {names, ticket, session, good}, .row = place_row};
    case ROWLOCK_ACT_AWAIT:
        return (struct round_trip){
            .id = ROWLOCK_SQL_AWAIT,
            .values = {rowlock__int_value(step->token), number, limit, ticket, session},
            .row = number_row,
            .limit_ms = step->limit_ms};
    case ROWLOCK_ACT_OVERTAKE:
        return (struct round_trip){
            .id = ROWLOCK_SQL_OVERTAKE,
            .values = {names, ticket, rowlock__int_value(step->called), limit},
            .row = number_row,
            .limit_ms = step->limit_ms,
            .server_ends = true};
    case ROWLOCK_ACT_WITHDRAW:
        return (struct round_trip){.id = ROWLOCK_SQL_WITHDRAW,
                                   .values = {ticket, owner, session},
                                   .uninterruptible = true};
    case ROWLOCK_ACT_SESSION_UNLOCK:
        return (struct round_trip){.id = step->number == ALL_LOST ? ROWLOCK_SQL_SESSION_UNLOCK_LOST
                                                                  : ROWLOCK_SQL_SESSION_UNLOCK,
                                   .values = {rowlock__int_value(0), number, session},
                                   .alone = true,
                                   .uninterruptible = true};
    default:
        return (struct round_trip){.id = 0};
    }
}

/* ---- the round trip -------------------------------------------------------------------------- */

#define WITHDRAWAL_MS 2000 /* the ticket of a session that ends is dead anyway */
#define PREPARE_MS 2000    /* outlasts a vacuum that repeatedly removes the names */
#define TRY_MS 2000        /* a try commits: given up too early it leaves an unknown lease */

static int64_t withdrawal_ms(const struct rowlock_connection *connection)
{
    int64_t most = connection->statement_ms;

    return most < 0 || most > WITHDRAWAL_MS ? WITHDRAWAL_MS : most;
}

/* The server ends a wait by itself, and gets the time of one statement more to report it, but
   little more than the caller's limit. */
static struct rowlock_budget budget_of(const struct rowlock_connection *connection,
                                       const struct round_trip *round_trip, int64_t deadline_ms)
{
    int64_t now = rowlock__now_ms(), end = rowlock__after(now, round_trip->limit_ms);
    int64_t more =
        round_trip->uninterruptible ? withdrawal_ms(connection) : connection->statement_ms;
    bool commits = round_trip->id == ROWLOCK_SQL_GRANT_FREE ||
                   (round_trip->id == ROWLOCK_SQL_GRANT && !round_trip->stays_open);
    struct rowlock_budget budget;

    if (end > deadline_ms)
        end = deadline_ms > now ? deadline_ms : now;
    budget = (struct rowlock_budget){
        .deadline_ms = rowlock__after(end, more),
        .interrupt_fd = round_trip->uninterruptible ? -1 : connection->interrupt_fd};
    return rowlock__in_time(connection, budget, commits ? TRY_MS : ROWLOCK_LATE_MS);
}

static unsigned flags_of(const struct rowlock_connection *connection,
                         const struct round_trip *round_trip)
{
    if (round_trip->id == ROWLOCK_SQL_GRANT_FREE)
        return ROWLOCK_ALONE;
    if (round_trip->alone || !rowlock__sql(connection, ROWLOCK_SQL_BEGIN))
        return ROWLOCK_INSIDE;
    return round_trip->stays_open ? ROWLOCK_BEGIN : ROWLOCK_BEGIN | ROWLOCK_COMMIT;
}

/* Neither an interrupt nor the end of the wait cancels the COMMIT, because the outcome would be
   unknown. A grant that was sent long ago is renewed first, because its holder counts the ttl from
   the time of sending. */
static int commit(const struct rowlock_request *request, int64_t sent_ms, struct answer *granted,
                  struct rowlock_error *error)
{
    struct rowlock_connection *connection = request->connection;
    int64_t now = rowlock__now_ms();
    struct rowlock_value values[] = {
        rowlock__int_value(granted->reply->token), rowlock__int_value(request->ttl_ms),
        rowlock__text_value(request->want[0].name), rowlock__text_value(request->owner)};
    struct rowlock_reply renewed = {.number = -1};
    struct answer answer = {.reply = &renewed};
    struct rowlock_call nothing = {0}, call = rowlock__call(connection, ROWLOCK_SQL_RENEW, values,
                                                            number_row, &answer);
    struct rowlock_budget budget = {rowlock__after(now, connection->statement_ms), -1, 0};
    bool late = rowlock__is_late_grant(request->ttl_ms, sent_ms, now) &&
                rowlock__sql(connection, ROWLOCK_SQL_BEGIN);
    int code = rowlock__send(connection, ROWLOCK_COMMIT, late ? &call : &nothing, &budget, error);

    if (code)
        return code;
    if (late && renewed.number == ROWLOCK_STATUS_OK)
        granted->reply->sent_ms = now;
    granted->reply->session_unlocked = rowlock__sql(connection, ROWLOCK_SQL_BEGIN) != NULL;
    return ROWLOCK_OK;
}

/* Statuses that the machine cannot handle. */
static int judge(const struct rowlock_request *request, enum rowlock_statement_id id,
                 const struct answer *answer, struct rowlock_error *error)
{
    struct rowlock_answer said = {.status = answer->reply->status};

    if (answer->rows == 0 && id == ROWLOCK_SQL_GRANT_FREE)
        return ROWLOCK_OK;
    if (answer->rows == 0)
        return rowlock__fail(error, ROWLOCK_EDB, "the database returned no row");
    switch (said.status) {
    case ROWLOCK_STATUS_UNPREPARED:
    case ROWLOCK_STATUS_LEFTOVER:
    case ROWLOCK_STATUS_CANCELED:
    case ROWLOCK_STATUS_LOST:
    case ROWLOCK_STATUS_SNAPSHOT:
    case ROWLOCK_STATUS_SERVER:
        snprintf(said.name, sizeof said.name, "%s", answer->refused->name);
        snprintf(said.detail, sizeof said.detail, "%s", answer->refused->detail);
        return rowlock__refuse(&said, -1, NULL, rowlock__was_interrupted(request->connection),
                               error);
    default:
        return ROWLOCK_OK;
    }
}

/* After the answer: performs the rest of the transaction, and leaves none open. */
static int conclude(const struct rowlock_request *request, const struct round_trip *round_trip,
                    int64_t sent_ms, struct answer *answer, struct rowlock_outcome *outcome,
                    int code, struct rowlock_error *error)
{
    struct rowlock_connection *connection = request->connection;
    struct rowlock_reply *reply = answer->reply;
    struct rowlock_answer leftover = {.status = ROWLOCK_STATUS_OK};
    bool begins = rowlock__sql(connection, ROWLOCK_SQL_BEGIN);

    /* MariaDB's grant_free met a lock, for which it does not wait. The procedure `grant` then
       waits, or names the holder. */
    if (round_trip->id == ROWLOCK_SQL_GRANT_FREE && !begins && outcome->left == ROWLOCK_TX_NONE &&
        (code == ROWLOCK_ETIMEDOUT || code == ROWLOCK_EROLLEDBACK || code == ROWLOCK_EDB)) {
        if (code == ROWLOCK_EDB) /* another name has the token: drop its session lock */
            rowlock__session_unlock_lost(connection);
        rowlock__clear_error(error);
        return ROWLOCK_OK;
    }
    if (!code && round_trip->row)
        code = judge(request, round_trip->id, answer, error);
    if (!code && round_trip->id == ROWLOCK_SQL_GRANT && !round_trip->stays_open)
        reply->session_unlocked = reply->status == ROWLOCK_STATUS_OK && !begins;
    if (!code && round_trip->id == ROWLOCK_SQL_WITHDRAW)
        reply->session_unlocked = begins;
    if (!code && round_trip->stays_open && reply->status == ROWLOCK_STATUS_OK) {
        code = rowlock__look_for_leftovers(connection, request->want, request->n, &leftover, error);
        if (!code && leftover.status != ROWLOCK_STATUS_OK)
            code = rowlock__refuse(&leftover, 0, NULL, 0, error);
        if (!code && request->hook)
            code = request->hook(request->hook_data, connection, reply->token, error);
        if (!code)
            return commit(request, sent_ms, answer, error);
        outcome->left =
            rowlock__state(connection) == ROWLOCK_STATE_DEAD ? ROWLOCK_TX_DEAD : ROWLOCK_TX_KEPT;
    }
    return rowlock__cleaned_up(connection, outcome, code, error);
}

/* After the last statement of a step, where its session may have a lock too many, or the settings
   of a grant. */
static void restore_session(struct rowlock_request *request, const struct rowlock_step *step,
                            const struct round_trip *round_trip, const struct rowlock_reply *reply,
                            const struct rowlock_error *error)
{
    struct rowlock_connection *connection = request->connection;
    struct rowlock_step unlock = {.act = ROWLOCK_ACT_SESSION_UNLOCK, .number = step->number};
    struct rowlock_reply ignored;
    struct rowlock_refused refused;

    /* PostgreSQL's enqueue takes the session lock last: not before a wait for a row that ends so */
    if (reply->code &&
        (step->act == ROWLOCK_ACT_GRANT || step->act == ROWLOCK_ACT_TURN ||
         (step->act == ROWLOCK_ACT_ENQUEUE && (!error || strcmp(error->sqlstate, "55P03") != 0))))
        rowlock__session_unlock_lost(connection);
    /* MariaDB, which has no statement BEGIN, has no settings that end with the transaction: our
       next call restores those of a grant that waited. With a ticket that is the call which
       releases its session lock. */
    if (round_trip->stays_open && reply->status == ROWLOCK_STATUS_OK && !step->ticket &&
        !rowlock__sql(connection, ROWLOCK_SQL_BEGIN) &&
        rowlock__state(connection) != ROWLOCK_STATE_DEAD)
        rowlock__execute(request, &unlock, ROWLOCK_NEVER, &ignored, &refused, NULL);
}

void rowlock__session_unlock_lost(struct rowlock_connection *connection)
{
    struct rowlock_request request = {.connection = connection};
    struct rowlock_step step = {.act = ROWLOCK_ACT_SESSION_UNLOCK, .number = ALL_LOST};
    struct rowlock_reply reply;
    struct rowlock_refused refused;

    if (rowlock__sql(connection, ROWLOCK_SQL_SESSION_UNLOCK_LOST) &&
        rowlock__state(connection) != ROWLOCK_STATE_DEAD)
        rowlock__execute(&request, &step, ROWLOCK_NEVER, &reply, &refused, NULL);
}

/* The statements of a step, one after the other: usually one. */
int rowlock__execute(struct rowlock_request *request, const struct rowlock_step *step,
                     int64_t deadline_ms, struct rowlock_reply *reply,
                     struct rowlock_refused *refused, struct rowlock_error *error)
{
    struct rowlock_connection *connection = request->connection;
    struct round_trip round_trip = round_trip_of(request, step, deadline_ms);
    bool tried = round_trip.id == ROWLOCK_SQL_GRANT_FREE, last = false;
    int64_t began_ms = rowlock__now_ms();
    int64_t cancelled_ms = rowlock__after(began_ms, withdrawal_ms(connection));
    struct rowlock_pause pause = ROWLOCK_PAUSE_LEASE;
    struct rowlock_value names;

    *refused = (struct rowlock_refused){0};
    *reply = (struct rowlock_reply){0};
    if (!round_trip.id)
        return reply->code =
                   rowlock__fail(error, ROWLOCK_EINVAL, "internal error: not a database step");
    if (!rowlock__sql(connection, round_trip.id) && round_trip.id == ROWLOCK_SQL_SESSION_UNLOCK)
        return ROWLOCK_OK; /* a server without session locks */
    if (!rowlock__sql(connection, round_trip.id))
        return reply->code =
                   rowlock__fail(error, ROWLOCK_EMODE, "leases are not offered on this engine");
    for (;;) {
        struct answer answer = {.reply = reply, .refused = refused};
        struct rowlock_outcome outcome = {0};
        struct rowlock_call call =
            rowlock__call(connection, round_trip.id, round_trip.values, round_trip.row, &answer);
        struct rowlock_budget budget = budget_of(connection, &round_trip, deadline_ms);
        int64_t sent_ms = rowlock__now_ms();

        call.limit_ms = round_trip.server_ends ? round_trip.limit_ms : 0;
        *reply = (struct rowlock_reply){0};
        reply->code = connection->driver->run(connection->link, flags_of(connection, &round_trip),
                                              &call, 1, &budget, &outcome, error);
        reply->code =
            conclude(request, &round_trip, sent_ms, &answer, &outcome, reply->code, error);
        if (round_trip.id == ROWLOCK_SQL_GRANT_FREE && !reply->code && !answer.rows) {
            /* the name is not simply free: the grant by functions decides */
            round_trip = grant(request, step, deadline_ms, true);
            continue;
        }
        /* A ticket or a session lock left behind blocks others as long as our session lives, so a
           withdrawal that was cancelled is repeated. */
        if (round_trip.uninterruptible &&
            rowlock__was_cancelled(connection, reply->code, cancelled_ms) &&
            rowlock__pause(&pause, -1, cancelled_ms) == ROWLOCK_WAKE_READY)
            continue;
        /* Technique row: the names lack rows. They are created in a transaction of its own, and the
           step is repeated, because a vacuum may remove a row in between. */
        if (reply->status != ROWLOCK_STATUS_UNPREPARED || last)
            break;
        last = rowlock__now_ms() >= rowlock__least(deadline_ms, began_ms + PREPARE_MS);
        names = rowlock__bytes_value(request->packed, request->length);
        call = rowlock__call(connection, ROWLOCK_SQL_PREPARE, &names, NULL, NULL);
        reply->code = rowlock__send(connection, ROWLOCK_BEGIN | ROWLOCK_COMMIT, &call, NULL, error);
        if (reply->code)
            break;
        rowlock__clear_error(error);
    }
    if (tried && round_trip.id == ROWLOCK_SQL_GRANT && !reply->code &&
        reply->status == ROWLOCK_STATUS_OK)
        connection->verified = 0; /* it may be out of date */
    restore_session(request, step, &round_trip, reply, error);
    return reply->code;
}
