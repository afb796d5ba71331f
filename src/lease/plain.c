/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executes the steps of the acquire machine on SQLite, which has no functions. The name lock of
 * every name is the file's write lock, so a step that writes is one transaction begun by BEGIN
 * IMMEDIATE, and its reads stay valid. A refusal rolls back, so it writes nothing. There are no
 * session locks: a waiter gives signs of life by updating `alive_until`.
 */
#include <stdio.h>
#include <string.h>

#include "lease/request.h"
#include "lock/refusal.h"
#include "util/error.h"

#define BRIEFLY_MS 30 /* how long a waiter tries for the write lock in one call */
#define WITHDRAWAL_MS \
    1000 /* a ticket expires after this time anyway: no need to wait longer to remove it */

struct work {
    struct rowlock_request *request;
    const struct rowlock_step *step;
    struct rowlock_reply *reply;
    struct rowlock_refused *refused;
    int64_t deadline_ms;
    struct rowlock_error *error;
};

static const char *const modes[] = {"exclusive", "shared", "permit"};

static struct rowlock_value limit_of(const struct rowlock_want *want)
{
    return want->mode == ROWLOCK_PERMIT ? rowlock__int_value(want->limit)
                                        : rowlock__text_value(NULL);
}

static struct rowlock_value keeper_of(const struct rowlock_request *request)
{
    return request->keeper_pid ? rowlock__int_value(request->keeper_pid)
                               : rowlock__text_value(NULL);
}

static int64_t count_of(const struct rowlock_want *want)
{
    return want->mode == ROWLOCK_PERMIT ? want->count : 1;
}

/* ---- the transaction ------------------------------------------------------------------------- */

static int ask(const struct work *work, enum rowlock_statement_id id,
               const struct rowlock_value *values, rowlock_row *row, void *data)
{
    return rowlock__ask(work->request->connection, id, values, row, data, work->error);
}

/* Takes the file's write lock; limit_ms < 0: no limit; uninterruptible: ignores interrupts. */
static int take_write_lock(const struct work *work, int64_t limit_ms, bool uninterruptible)
{
    struct rowlock_connection *connection = work->request->connection;
    struct rowlock_budget budget = {rowlock__after(rowlock__now_ms(), limit_ms),
                                    uninterruptible ? -1 : connection->interrupt_fd, 0};
    struct rowlock_outcome outcome = {0};

    if (!uninterruptible && budget.deadline_ms > work->deadline_ms)
        budget.deadline_ms = work->deadline_ms;
    return connection->driver->run(connection->link, ROWLOCK_BEGIN, NULL, 0, &budget, &outcome,
                                   work->error);
}

/* Commits if `keep` is set; otherwise, or if COMMIT fails, nothing is changed. */
static int end_transaction(const struct work *work, int code, bool keep)
{
    struct rowlock_connection *connection = work->request->connection;
    struct rowlock_budget budget = rowlock__budget(connection);
    struct rowlock_outcome outcome = {.left = ROWLOCK_TX_KEPT};

    budget.interrupt_fd = -1;
    if (!code && keep)
        code = connection->driver->run(connection->link, ROWLOCK_COMMIT, NULL, 0, &budget, &outcome,
                                       work->error);
    if (!code && keep)
        return ROWLOCK_OK;
    return rowlock__cleaned_up(connection, &outcome, code, work->error);
}

/* ---- looking --------------------------------------------------------------------------------- */

/* status, name, token, ticket, detail */
static void look_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    const struct work *work = data;
    struct rowlock_reply *reply = work->reply;
    struct rowlock_refused *refused = work->refused;

    if (n < 5)
        return;
    reply->status = (enum rowlock_status)rowlock__value_number(&columns[0]);
    if (reply->status == ROWLOCK_STATUS_OK)
        return;
    reply->number = rowlock__value_number(&columns[reply->status == ROWLOCK_STATUS_QUEUED ? 3 : 2]);
    rowlock__column_text(&columns[1], refused->name, sizeof refused->name);
    if (reply->status == ROWLOCK_STATUS_LIMIT)
        rowlock__column_text(&columns[4], refused->detail, sizeof refused->detail);
}

/* Until a conflict is found, or all names are checked; reply->status is the result. */
static int look(struct work *work, bool at_limits_only)
{
    struct rowlock_request *request = work->request;
    int code = ROWLOCK_OK;

    for (size_t i = 0; !code && i < request->n; i++) {
        const struct rowlock_want *want = &request->want[i];
        struct rowlock_value values[] = {rowlock__text_value(want->name),
                                         rowlock__text_value(modes[want->mode]),
                                         limit_of(want),
                                         rowlock__int_value(count_of(want)),
                                         rowlock__text_value(request->owner),
                                         rowlock__int_value(work->step->ticket)};

        code = ask(work, ROWLOCK_SQL_CONFLICT, values, look_row, work);
        if (at_limits_only && work->reply->status != ROWLOCK_STATUS_LIMIT)
            work->reply->status = ROWLOCK_STATUS_OK;
        if (work->reply->status != ROWLOCK_STATUS_OK)
            break;
    }
    return code;
}

/* Technique insert: a committed row is a lock for the other programs that use the table. */
static int look_for_leftovers(struct work *work)
{
    const struct rowlock_request *request = work->request;
    struct rowlock_answer answer = {.status = ROWLOCK_STATUS_OK};
    int code = ROWLOCK_OK;

    if (request->connection->installed.technique != ROWLOCK_INSERT)
        return ROWLOCK_OK;
    for (size_t i = 0; !code && i < request->n; i++) {
        struct rowlock_value name = rowlock__text_value(request->want[i].name);

        snprintf(answer.name, sizeof answer.name, "%s", request->want[i].name);
        code = ask(work, ROWLOCK_SQL_LEFTOVER, &name, rowlock__leftover_row, &answer);
        if (!code && answer.status != ROWLOCK_STATUS_OK)
            code = rowlock__refuse(&answer, 0, NULL, 0, work->error);
    }
    return code;
}

/* ---- grant ----------------------------------------------------------------------------------- */

static int hold(const struct work *work, const struct rowlock_want *want, int64_t token)
{
    const struct rowlock_request *request = work->request;
    struct rowlock_value values[] = {rowlock__int_value(token),
                                     rowlock__text_value(want->name),
                                     rowlock__text_value(modes[want->mode]),
                                     limit_of(want),
                                     rowlock__int_value(count_of(want)),
                                     rowlock__text_value(request->owner),
                                     rowlock__text_value(request->host),
                                     keeper_of(request),
                                     rowlock__text_value(request->command),
                                     rowlock__text_value(request->note)};

    return ask(work, ROWLOCK_SQL_INSERT_LEASE, values, NULL, NULL);
}

static int withdraw_all(const struct work *work, int64_t ticket)
{
    struct rowlock_value values[] = {rowlock__int_value(ticket),
                                     rowlock__text_value(work->request->owner)};

    return ask(work, ROWLOCK_SQL_WITHDRAW, values, NULL, NULL);
}

static int insert(const struct work *work, int64_t *token)
{
    const struct rowlock_request *request = work->request;
    int code = ask(work, ROWLOCK_SQL_NEXT_NUMBER, NULL, rowlock__take_number, token);

    for (size_t i = 0; !code && i < request->n; i++)
        code = hold(work, &request->want[i], *token);
    if (!code) {
        struct rowlock_value values[] = {rowlock__int_value(*token),
                                         rowlock__int_value(request->ttl_ms)};

        code = ask(work, ROWLOCK_SQL_INSERT_HEARTBEAT, values, NULL, NULL);
    }
    return code ? code : withdraw_all(work, 0);
}

static int grant_under_t(struct work *work, int64_t *token)
{
    const struct rowlock_request *request = work->request;
    struct rowlock_value values[] = {rowlock__text_value(request->want[0].name),
                                     rowlock__text_value(request->owner)};
    int code = ask(work, ROWLOCK_SQL_OWN_LEASE, values, rowlock__take_number, token);

    if (code || *token)
        return code;
    code = look(work, false);
    if (code || work->reply->status != ROWLOCK_STATUS_OK)
        return code;
    code = look_for_leftovers(work);
    return code ? code : insert(work, token);
}

static int grant(struct work *work)
{
    int64_t token = 0;
    int64_t limit_ms = work->step->limit_ms;
    int code;

    if (limit_ms == 0) /* a try: another writer is done in a moment, so wait for it if allowed */
        limit_ms = work->deadline_ms == ROWLOCK_NEVER ? 0 : -1;
    code = take_write_lock(work, limit_ms, false);
    if (code == ROWLOCK_ETIMEDOUT) {
        work->reply->status = work->step->limit_ms ? ROWLOCK_STATUS_TIMEDOUT : ROWLOCK_STATUS_BUSY;
        rowlock__clear_error(work->error);
        return ROWLOCK_OK;
    }
    if (code)
        return code;
    code = grant_under_t(work, &token);
    if (!code && work->reply->status == ROWLOCK_STATUS_OK && work->request->hook)
        code = work->request->hook(work->request->hook_data, work->request->connection, token,
                                   work->error);
    code = end_transaction(work, code, work->reply->status == ROWLOCK_STATUS_OK);
    work->reply->token = code ? 0 : token;
    return code;
}

/* ---- the queue ------------------------------------------------------------------------------- */

static int stand(const struct work *work, const struct rowlock_want *want, int64_t ticket)
{
    const struct rowlock_request *request = work->request;
    struct rowlock_value values[] = {rowlock__int_value(ticket),
                                     rowlock__text_value(want->name),
                                     rowlock__text_value(modes[want->mode]),
                                     limit_of(want),
                                     rowlock__int_value(count_of(want)),
                                     rowlock__text_value(request->owner),
                                     rowlock__text_value(request->host),
                                     rowlock__int_value(request->pid),
                                     rowlock__text_value(request->command),
                                     rowlock__text_value(request->note),
                                     rowlock__int_value(work->step->good_ms)};

    return ask(work, ROWLOCK_SQL_INSERT_WAITER, values, NULL, NULL);
}

static int enqueue_under_t(struct work *work, int64_t *ticket)
{
    const struct rowlock_request *request = work->request;
    int code = withdraw_all(work, 0);

    if (!code)
        code = look(work, true);
    if (code || work->reply->status != ROWLOCK_STATUS_OK)
        return code;
    code = ask(work, ROWLOCK_SQL_NEXT_NUMBER, NULL, rowlock__take_number, ticket);
    for (size_t i = 0; !code && i < request->n; i++)
        code = stand(work, &request->want[i], *ticket);
    return code;
}

/* Waits briefly only: the driver polls fast, so a crowd of new waiters would use up the processor.
   The machine retries with a growing backoff. A queued waiter keeps trying, because it could lose
   its place. */
static int take_write_lock_briefly(const struct work *work)
{
    int64_t statement_ms = work->request->connection->statement_ms;

    return take_write_lock(
        work, statement_ms < 0 || statement_ms > BRIEFLY_MS ? BRIEFLY_MS : statement_ms, false);
}

static int enqueue(struct work *work)
{
    int64_t ticket = 0;
    int code = take_write_lock_briefly(work);

    if (code)
        return code;
    code = enqueue_under_t(work, &ticket);
    code = end_transaction(work, code, work->reply->status == ROWLOCK_STATUS_OK);
    work->reply->number = code ? 0 : ticket;
    return code;
}

struct position {
    struct work *work;
    bool stale;
};

/* status, number, before, free, expires_ms, locked, name, detail, stale */
static void place_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct position *position = data;

    if (n < 9)
        return;
    rowlock__take_place(position->work->reply, position->work->refused, columns);
    position->stale = rowlock__value_number(&columns[8]) != 0;
}

/* Most looks only read, and so delay no renewal. */
static int place(struct work *work)
{
    struct rowlock_value values[] = {rowlock__int_value(work->step->ticket),
                                     rowlock__int_value(work->step->good_ms)};
    struct position position = {.work = work};
    int code = ask(work, ROWLOCK_SQL_PLACE, values, place_row, &position);

    if (code || !position.stale || work->reply->status == ROWLOCK_STATUS_UNQUEUED)
        return code;
    code = take_write_lock(work, work->request->connection->statement_ms, false);
    if (code)
        return code;
    return end_transaction(work, ask(work, ROWLOCK_SQL_STAY_ALIVE, values, NULL, NULL), true);
}

/* Draws a number for a roll call, and marks tickets with it; or removes those that
   did not answer. */
static int call_roll(const struct work *work, int64_t *number)
{
    int code = work->step->called
                   ? ROWLOCK_OK
                   : ask(work, ROWLOCK_SQL_NEXT_NUMBER, NULL, rowlock__take_number, number);
    struct rowlock_value values[] = {rowlock__int_value(work->step->ticket),
                                     rowlock__int_value(work->step->called),
                                     rowlock__int_value(*number)};

    return code ? code : ask(work, ROWLOCK_SQL_OVERTAKE, values, NULL, NULL);
}

static int overtake(struct work *work)
{
    struct rowlock_value values[] = {rowlock__int_value(work->step->ticket),
                                     rowlock__int_value(work->step->good_ms)};
    struct position position = {.work = work};
    int64_t number = work->step->called;
    int code = take_write_lock(work, work->step->limit_ms, false);
    bool calls;

    if (code)
        return code;
    code = ask(work, ROWLOCK_SQL_PLACE, values, place_row, &position);
    calls = !code && work->reply->status == ROWLOCK_STATUS_QUEUED && work->reply->free;
    if (calls)
        code = call_roll(work, &number);
    code = end_transaction(work, code, calls);
    *work->reply = (struct rowlock_reply){.number = !code && calls ? number : 0};
    return code;
}

static int withdraw(struct work *work)
{
    int64_t limit_ms = work->request->connection->statement_ms;
    int code;

    if (limit_ms < 0 || limit_ms > WITHDRAWAL_MS)
        limit_ms = WITHDRAWAL_MS;
    code = take_write_lock(work, limit_ms, true);
    return code ? code : end_transaction(work, withdraw_all(work, work->step->ticket), true);
}

int rowlock__execute_plain(struct rowlock_request *request, const struct rowlock_step *step,
                           int64_t deadline_ms, struct rowlock_reply *reply,
                           struct rowlock_refused *refused, struct rowlock_error *error)
{
    struct work work = {request, step, reply, refused, deadline_ms, error};

    *reply = (struct rowlock_reply){0};
    *refused = (struct rowlock_refused){0};
    switch (step->act) {
    case ROWLOCK_ACT_GRANT:
        return reply->code = grant(&work);
    case ROWLOCK_ACT_ENQUEUE:
        return reply->code = enqueue(&work);
    case ROWLOCK_ACT_PLACE:
        return reply->code = place(&work);
    case ROWLOCK_ACT_OVERTAKE:
        return reply->code = overtake(&work);
    case ROWLOCK_ACT_WITHDRAW:
        return reply->code = withdraw(&work);
    case ROWLOCK_ACT_AWAIT: /* no session locks: nothing to wait for, and nothing to release */
    case ROWLOCK_ACT_SESSION_UNLOCK:
        return reply->code = ROWLOCK_OK;
    default:
        return reply->code =
                   rowlock__fail(error, ROWLOCK_EINVAL, "internal error: not a database step");
    }
}
