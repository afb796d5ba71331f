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

static struct rowlock_value packed(const struct rowlock_request *request)
{
    return rowlock__bytes_value(request->packed, request->length);
}

static struct rowlock_value session(const struct rowlock_request *request)
{
    return rowlock__int_value(rowlock__marking_session(request->connection));
}

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
    rowlock__take_place(answer->reply, answer->refused, columns);
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

/* On a file another writer is done in a moment, so a step waits for it if the caller may wait. */
static int64_t wait_for_file(const struct rowlock_step *step, int64_t deadline_ms)
{
    int64_t left = deadline_ms - rowlock__now_ms();

    if (deadline_ms == ROWLOCK_NEVER)
        return step->limit_ms;
    left = left > 0 ? left : 0;
    return step->limit_ms > 0 && step->limit_ms < left ? step->limit_ms : left;
}

static bool is_file(const struct rowlock_request *r)
{
    return !r->connection->dialect->procedural;
}

static int64_t wait_of(const struct rowlock_request *r, const struct rowlock_step *step,
                       int64_t deadline_ms)
{
    if (is_file(r))
        return wait_for_file(step, deadline_ms);
    if (step->limit_ms != 0)
        return step->limit_ms;
    return r->hook ? HOOK_MS : 0;
}

static struct rowlock_value keeper_of(const struct rowlock_request *r)
{
    return r->keeper_pid ? rowlock__int_value(r->keeper_pid) : rowlock__text_value(NULL);
}

/* A server may perform a grant that waited after its client has died. A file has no server. */
static bool client_commits(const struct rowlock_request *r, int64_t wait_ms)
{
    if (is_file(r))
        return r->hook || r->connection->installed.technique == ROWLOCK_INSERT;
    return wait_ms != 0;
}

static struct round_trip grant(const struct rowlock_request *r, const struct rowlock_step *step,
                               int64_t deadline_ms)
{
    int64_t wait_ms = wait_of(r, step, deadline_ms);

    return (struct round_trip){
        .id = ROWLOCK_SQL_GRANT,
        .values = {packed(r), rowlock__text_value(r->owner), rowlock__int_value(r->ttl_ms),
                   rowlock__int_value(wait_ms), rowlock__int_value(step->ticket), session(r),
                   rowlock__text_value(r->host), keeper_of(r), rowlock__text_value(r->command),
                   rowlock__text_value(r->note)},
        .row = grant_row,
        .limit_ms = wait_ms,
        .server_ends = wait_ms >= LONG_MS,
        .stays_open = client_commits(r, wait_ms)};
}

/* The most frequent grant, by statements of its own. */
static bool is_simple(const struct rowlock_request *r, const struct rowlock_step *step,
                      int64_t deadline_ms)
{
    const struct rowlock_connection *connection = r->connection;

    return r->n == 1 && r->want[0].mode == ROWLOCK_EXCLUSIVE && !step->ticket &&
           connection->verified > 0 && rowlock__sql(connection, ROWLOCK_SQL_GRANT_FREE) &&
           wait_of(r, step, deadline_ms) == 0 &&
           (!connection->driver->speaks_utf8 || connection->driver->speaks_utf8(connection->link));
}

static struct round_trip grant_free(const struct rowlock_request *r)
{
    const struct rowlock_value *verification = r->connection->verification;

    return (struct round_trip){
        .id = ROWLOCK_SQL_GRANT_FREE,
        .values = {rowlock__text_value(r->want[0].name), rowlock__text_value(r->owner),
                   rowlock__int_value(r->ttl_ms), rowlock__text_value(r->host), keeper_of(r),
                   rowlock__text_value(r->command), rowlock__text_value(r->note), session(r),
                   verification[0], verification[1], verification[2], verification[3]},
        .row = token_row,
        .alone = true};
}

static struct round_trip enqueue(const struct rowlock_request *r, const struct rowlock_step *step)
{
    return (struct round_trip){.id = ROWLOCK_SQL_ENQUEUE,
                               .values = {packed(r), rowlock__text_value(r->owner), session(r),
                                          rowlock__int_value(step->good_ms),
                                          rowlock__text_value(r->host), rowlock__int_value(r->pid),
                                          rowlock__text_value(r->command),
                                          rowlock__text_value(r->note)},
                               .row = grant_row};
}

static struct round_trip place(const struct rowlock_request *r, const struct rowlock_step *step)
{
    return (struct round_trip){.id = ROWLOCK_SQL_PLACE,
                               .values = {packed(r), rowlock__int_value(step->ticket), session(r),
                                          rowlock__int_value(step->good_ms)},
                               .row = place_row};
}

static struct round_trip await(const struct rowlock_request *r, const struct rowlock_step *step)
{
    return (struct round_trip){.id = ROWLOCK_SQL_AWAIT,
                               .values = {rowlock__int_value(step->token),
                                          rowlock__int_value(step->number),
                                          rowlock__int_value(step->limit_ms),
                                          rowlock__int_value(step->ticket), session(r)},
                               .row = number_row,
                               .limit_ms = step->limit_ms};
}

static struct round_trip turn(const struct rowlock_request *r, const struct rowlock_step *step)
{
    return (struct round_trip){
        .id = ROWLOCK_SQL_TURN,
        .values = {packed(r), rowlock__text_value(r->owner), rowlock__int_value(r->ttl_ms),
                   rowlock__int_value(step->limit_ms), rowlock__int_value(step->ticket), session(r),
                   rowlock__text_value(r->host), keeper_of(r), rowlock__text_value(r->command),
                   rowlock__text_value(r->note), rowlock__int_value(step->token),
                   rowlock__int_value(step->number)},
        .row = grant_row,
        .limit_ms = step->limit_ms,
        .stays_open = true};
}

static struct round_trip overtake(const struct rowlock_request *r, const struct rowlock_step *step)
{
    return (struct round_trip){.id = ROWLOCK_SQL_OVERTAKE,
                               .values = {packed(r), rowlock__int_value(step->ticket),
                                          rowlock__int_value(step->called),
                                          rowlock__int_value(step->limit_ms)},
                               .row = number_row,
                               .limit_ms = step->limit_ms,
                               .server_ends = true};
}

static struct round_trip session_unlock(const struct rowlock_request *r,
                                        const struct rowlock_step *step)
{
    return (struct round_trip){
        .id = ROWLOCK_SQL_SESSION_UNLOCK,
        .values = {rowlock__int_value(0), rowlock__int_value(step->number), session(r)},
        .alone = true,
        .uninterruptible = true};
}

/* .id 0: the step is not one of the database. */
static struct round_trip round_trip_of(const struct rowlock_request *request,
                                       const struct rowlock_step *step, int64_t deadline_ms)
{
    switch (step->act) {
    case ROWLOCK_ACT_GRANT:
        return is_simple(request, step, deadline_ms) ? grant_free(request)
                                                     : grant(request, step, deadline_ms);
    case ROWLOCK_ACT_ENQUEUE:
        return enqueue(request, step);
    case ROWLOCK_ACT_PLACE:
        return place(request, step);
    case ROWLOCK_ACT_AWAIT:
        return await(request, step);
    case ROWLOCK_ACT_TURN:
        return turn(request, step);
    case ROWLOCK_ACT_OVERTAKE:
        return overtake(request, step);
    case ROWLOCK_ACT_WITHDRAW:
        return (struct round_trip){.id = ROWLOCK_SQL_WITHDRAW,
                                   .values = {rowlock__int_value(step->ticket),
                                              rowlock__text_value(request->owner),
                                              session(request)},
                                   .uninterruptible = true};
    case ROWLOCK_ACT_SESSION_UNLOCK:
        return session_unlock(request, step);
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

static bool commits_a_grant(const struct round_trip *round_trip)
{
    return round_trip->id == ROWLOCK_SQL_GRANT_FREE ||
           (round_trip->id == ROWLOCK_SQL_GRANT && !round_trip->stays_open);
}

/* The server ends a wait by itself, and gets the time of one statement more to report it, but
   little more than the caller's limit. */
static struct rowlock_budget budget_of(const struct rowlock_connection *connection,
                                       const struct round_trip *round_trip, int64_t deadline_ms)
{
    int64_t now = rowlock__now_ms(), end = rowlock__after(now, round_trip->limit_ms);
    int64_t more =
        round_trip->uninterruptible ? withdrawal_ms(connection) : connection->statement_ms;
    struct rowlock_budget budget;

    if (end > deadline_ms)
        end = deadline_ms > now ? deadline_ms : now;
    budget = (struct rowlock_budget){
        .deadline_ms = rowlock__after(end, more),
        .interrupt_fd = round_trip->uninterruptible ? -1 : connection->interrupt_fd};
    return rowlock__in_time(connection, budget,
                            commits_a_grant(round_trip) ? TRY_MS : ROWLOCK_LATE_MS);
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

static bool is_dead(const struct rowlock_connection *connection)
{
    return rowlock__state(connection) == ROWLOCK_STATE_DEAD;
}

static int call_hook(const struct rowlock_request *request, int64_t token,
                     struct rowlock_error *error)
{
    struct rowlock_answer answer = {.status = ROWLOCK_STATUS_OK};
    int code =
        rowlock__look_for_leftovers(request->connection, request->want, request->n, &answer, error);

    if (!code && answer.status != ROWLOCK_STATUS_OK)
        code = rowlock__refuse(&answer, 0, NULL, 0, error);
    if (code)
        return code;
    return request->hook ? request->hook(request->hook_data, request->connection, token, error)
                         : ROWLOCK_OK;
}

/* MariaDB's grant_free waits for no lock: the procedure does, or finds out who has it. */
static bool had_to_wait(const struct rowlock_connection *connection, int code,
                        const struct rowlock_outcome *outcome)
{
    return (code == ROWLOCK_ETIMEDOUT || code == ROWLOCK_EROLLEDBACK || code == ROWLOCK_EDB) &&
           !rowlock__sql(connection, ROWLOCK_SQL_BEGIN) && outcome->left == ROWLOCK_TX_NONE;
}

static int send_round_trip(struct rowlock_request *request, const struct round_trip *round_trip,
                           int64_t deadline_ms, struct answer *answer, struct rowlock_error *error)
{
    struct rowlock_connection *connection = request->connection;
    struct rowlock_budget budget = budget_of(connection, round_trip, deadline_ms);
    struct rowlock_outcome outcome = {0};
    struct rowlock_call call =
        rowlock__call(connection, round_trip->id, round_trip->values, round_trip->row, answer);
    int64_t sent_ms = rowlock__now_ms();
    int code;

    call.limit_ms = round_trip->server_ends ? round_trip->limit_ms : 0;
    if (!call.statement && round_trip->id == ROWLOCK_SQL_SESSION_UNLOCK)
        return ROWLOCK_OK; /* a server without session locks */
    if (!call.statement)
        return rowlock__fail(error, ROWLOCK_EMODE, "leases are not offered on this engine");
    code = connection->driver->run(connection->link, flags_of(connection, round_trip), &call, 1,
                                   &budget, &outcome, error);
    if (round_trip->id == ROWLOCK_SQL_GRANT_FREE && had_to_wait(connection, code, &outcome)) {
        if (code == ROWLOCK_EDB) /* another name has the token: drop its session lock */
            rowlock__session_unlock_lost(connection);
        rowlock__clear_error(error);
        return ROWLOCK_OK;
    }
    if (!code && round_trip->row)
        code = judge(request, round_trip->id, answer, error);
    if (!code && round_trip->id == ROWLOCK_SQL_GRANT && !round_trip->stays_open)
        answer->reply->session_unlocked = answer->reply->status == ROWLOCK_STATUS_OK &&
                                          !rowlock__sql(connection, ROWLOCK_SQL_BEGIN);
    if (!code && round_trip->id == ROWLOCK_SQL_WITHDRAW)
        answer->reply->session_unlocked = rowlock__sql(connection, ROWLOCK_SQL_BEGIN) != NULL;
    if (!code && round_trip->stays_open && answer->reply->status == ROWLOCK_STATUS_OK) {
        code = call_hook(request, answer->reply->token, error);
        if (!code)
            return commit(request, sent_ms, answer, error);
        outcome.left = is_dead(connection) ? ROWLOCK_TX_DEAD : ROWLOCK_TX_KEPT;
    }
    return rowlock__cleaned_up(connection, &outcome, code, error);
}

/* A ticket or a session lock left behind blocks others as long as our session lives, so a
   withdrawal that was cancelled is repeated. */
static int send_withdrawal(struct rowlock_request *request, const struct round_trip *round_trip,
                           int64_t deadline_ms, struct answer *answer, struct rowlock_error *error)
{
    const struct rowlock_connection *connection = request->connection;
    int64_t until_ms = rowlock__after(rowlock__now_ms(), withdrawal_ms(connection));
    struct rowlock_pause pause = ROWLOCK_PAUSE_LEASE;
    int code;

    do
        code = send_round_trip(request, round_trip, deadline_ms, answer, error);
    while (rowlock__was_cancelled(connection, code, until_ms) &&
           rowlock__pause(&pause, -1, until_ms) == ROWLOCK_WAKE_READY);
    return code;
}

/* Technique row: creates the names' rows, in a transaction of its own. */
static int prepare(const struct rowlock_request *request, struct rowlock_error *error)
{
    struct rowlock_connection *connection = request->connection;
    struct rowlock_value names = packed(request);
    struct rowlock_call call = rowlock__call(connection, ROWLOCK_SQL_PREPARE, &names, NULL, NULL);

    return rowlock__send(connection, ROWLOCK_BEGIN | ROWLOCK_COMMIT, &call, NULL, error);
}

/* MariaDB, which has no statement BEGIN, has no settings that end with the transaction: our next
   call restores those of a grant that waited. With a ticket that is the call which releases its
   session lock. */
static void restore_session(struct rowlock_request *request, const struct rowlock_step *step,
                            int64_t deadline_ms)
{
    struct rowlock_reply reply = {0};
    struct rowlock_refused refused = {0};
    struct answer answer = {.reply = &reply, .refused = &refused};
    struct round_trip round_trip = session_unlock(request, step);

    send_withdrawal(request, &round_trip, deadline_ms, &answer, NULL);
}

void rowlock__session_unlock_lost(struct rowlock_connection *connection)
{
    struct rowlock_request request = {.connection = connection};
    struct rowlock_reply reply = {0};
    struct rowlock_refused refused = {0};
    struct answer answer = {.reply = &reply, .refused = &refused};
    struct round_trip round_trip = {
        .id = ROWLOCK_SQL_SESSION_UNLOCK_LOST, .alone = true, .uninterruptible = true};

    if (rowlock__sql(connection, round_trip.id) && !is_dead(connection))
        send_withdrawal(&request, &round_trip, ROWLOCK_NEVER, &answer, NULL);
}

/* The call after one that decided nothing: where the name is not simply free, the grant by
   functions decides. .id 0: the step is done. */
static struct round_trip next_of(const struct rowlock_request *request,
                                 const struct rowlock_step *step, int64_t deadline_ms,
                                 const struct round_trip *sent, const struct answer *answer)
{
    if (answer->reply->code || answer->rows)
        return (struct round_trip){.id = 0};
    if (sent->id == ROWLOCK_SQL_GRANT_FREE)
        return grant(request, step, deadline_ms);
    return (struct round_trip){.id = 0};
}

/* PostgreSQL's enqueue takes the session lock last: not before a wait for a row that ends so. */
static bool may_have_marked(const struct rowlock_step *step, const struct rowlock_error *error)
{
    if (step->act == ROWLOCK_ACT_ENQUEUE)
        return !error || strcmp(error->sqlstate, "55P03") != 0;
    return step->act == ROWLOCK_ACT_GRANT || step->act == ROWLOCK_ACT_TURN;
}

/* Technique row: if rows of the names are missing, creates them and repeats the step, because a
   vacuum may remove a row in between. */
int rowlock__execute(struct rowlock_request *request, const struct rowlock_step *step,
                     int64_t deadline_ms, struct rowlock_reply *reply,
                     struct rowlock_refused *refused, struct rowlock_error *error)
{
    struct answer answer = {.reply = reply, .refused = refused};
    int64_t until_ms = rowlock__now_ms() + PREPARE_MS;
    struct round_trip next = round_trip_of(request, step, deadline_ms), round_trip = next;
    bool tried = next.id == ROWLOCK_SQL_GRANT_FREE;

    *reply = (struct rowlock_reply){0};
    *refused = (struct rowlock_refused){0};
    if (!next.id)
        return reply->code =
                   rowlock__fail(error, ROWLOCK_EINVAL, "internal error: not a database step");
    while (next.id) {
        round_trip = next;
        reply->code = (round_trip.uninterruptible ? send_withdrawal : send_round_trip)(
            request, &round_trip, deadline_ms, &answer, error);
        next = next_of(request, step, deadline_ms, &round_trip, &answer);
    }
    if (tried && round_trip.id == ROWLOCK_SQL_GRANT && !reply->code &&
        reply->status == ROWLOCK_STATUS_OK)
        request->connection->verified = 0; /* it may be out of date */
    for (bool last = false; reply->status == ROWLOCK_STATUS_UNPREPARED && !last;) {
        last = rowlock__now_ms() >= (deadline_ms < until_ms ? deadline_ms : until_ms);
        reply->code = prepare(request, error);
        if (reply->code)
            break;
        rowlock__clear_error(error);
        *reply = (struct rowlock_reply){0};
        answer.rows = 0;
        reply->code = send_round_trip(request, &round_trip, deadline_ms, &answer, error);
    }
    if (reply->code && may_have_marked(step, error))
        rowlock__session_unlock_lost(request->connection);
    if (round_trip.stays_open && reply->status == ROWLOCK_STATUS_OK && !step->ticket &&
        !rowlock__sql(request->connection, ROWLOCK_SQL_BEGIN) && !is_dead(request->connection))
        restore_session(request, step, deadline_ms);
    return reply->code;
}
