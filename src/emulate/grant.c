/* SPDX-License-Identifier: Apache-2.0 */
/* Grants a lease under the name locks of its names. */
#include <stdio.h>
#include <stdlib.h>

#include "emulate/names.h"
#include "util/error.h"

#define SWEEP_TRY_MS 250 /* limits of the wait for expired leases that a fence still holds */
#define SWEEP_MS 1500

/* The parameters of grant, and its answer. */
struct granting {
    struct rowlock_work *work;
    struct rowlock_wish *wish;
    size_t n, at; /* number of names; index of the name in conflict */
    struct rowlock_value owner;
    int64_t ttl_ms, wait_ms, ticket;
    bool adopted; /* an earlier try of this call was granted the token */
    bool stray;   /* the owner has a ticket that this call does not know: a session was lost */
    enum rowlock_status status;
    int64_t token, number, waited_ms;
    char detail[120];
};

void rowlock__answer_grant(struct rowlock_work *work, enum rowlock_status status, const char *key,
                           struct rowlock_value token, int64_t number, const char *detail)
{
    char name[256];

    rowlock__key_name(work, rowlock__text_value(key), name);
    rowlock__work_answer(work,
                         (struct rowlock_value[]){rowlock__int_value(status),
                                                  rowlock__text_value(key ? name : NULL), token,
                                                  rowlock__int_value(number),
                                                  rowlock__text_value(*detail ? detail : NULL)},
                         5);
}

static void answer(const struct granting *g)
{
    bool refused = g->status != ROWLOCK_STATUS_OK && g->at < g->n;

    rowlock__answer_grant(g->work, g->status, refused ? g->wish[g->at].key : NULL,
                          rowlock__int_value(g->token), g->number, g->detail);
}

struct drawn {
    int64_t number, level;
};

static void drawn_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    if (n > 1)
        *(struct drawn *)data =
            (struct drawn){rowlock__value_number(&columns[0]), rowlock__value_number(&columns[1])};
}

static int read_drawn(struct rowlock_work *work, int64_t *number, int64_t *level)
{
    struct drawn drawn = {0, 0};
    int code = rowlock__work_ask(work, ROWLOCK_PLAIN_DRAWN, NULL, drawn_row, &drawn);

    *number = drawn.number;
    if (level)
        *level = drawn.level;
    return code;
}

int rowlock__draw(struct rowlock_work *work, int64_t *number, int64_t *level)
{
    int code = rowlock__work_do(work, ROWLOCK_PLAIN_DRAW, NULL);

    if (!code && work->affected != 1)
        return rowlock__fail(work->error, ROWLOCK_ESCHEMA,
                             "the row of rowlock_number is missing; if no install is under way: "
                             "INSERT INTO rowlock_number (only_one, drawn) VALUES (1, 0)");
    return code ? code : read_drawn(work, number, level);
}

static struct rowlock_asked asked_of(const struct granting *g, size_t i)
{
    return (struct rowlock_asked){g->wish[i].kind, g->wish[i].limit, g->wish[i].count, g->ticket};
}

static void refuse(struct granting *g, size_t i, enum rowlock_status status, int64_t number)
{
    g->at = i;
    g->status = status;
    g->number = number;
}

/* Adopts the lease that an earlier try of this call was granted: it lasts ttl_ms from now. If it
   was broken since, it is released. */
static int adopt(struct granting *g, int64_t token)
{
    struct rowlock_value values[] = {rowlock__int_value(g->ttl_ms), rowlock__int_value(g->ttl_ms),
                                     rowlock__int_value(token)};
    bool was;
    int code = rowlock__work_do(g->work, ROWLOCK_PLAIN_HEARTBEAT_RENEW, values);

    g->adopted = !code && g->work->affected > 0;
    if (g->adopted)
        g->token = token;
    else if (!code)
        code = rowlock__end_lease_rows(g->work, token, &was);
    return code;
}

/* Adopts the owner's lease of the first name. If it cannot be adopted, it was released, and the
   leases are read again. */
static int adopt_own(struct granting *g, struct rowlock_rows *leases)
{
    const struct rowlock_lease_row *row = leases->row;
    int64_t own = 0;
    int code;

    for (size_t i = 0; i < leases->n; i++)
        own = row[i].held.own ? row[i].held.token : own;
    if (!own)
        return ROWLOCK_OK;
    code = adopt(g, own);
    if (code || g->adopted)
        return code;
    rowlock__rows_clear(leases);
    return rowlock__read_leases(g->work, g->wish[0].key, &g->owner, leases);
}

/* Deletes the expired leases that conflict. A renewal may keep one: then the request is refused. */
static int clear(struct granting *g, size_t i, const struct rowlock_rows *leases)
{
    const struct rowlock_lease_row *row = leases->row;
    int64_t limit_ms = g->wait_ms ? SWEEP_MS : SWEEP_TRY_MS, last = 0;
    bool ended = true;
    int code = ROWLOCK_OK;

    for (size_t j = 0; !code && ended && j < leases->n; j++) {
        if (row[j].held.alive || row[j].held.token == last ||
            !rowlock__conflicts(g->wish[i].kind, row[j].held.kind))
            continue;
        last = row[j].held.token;
        code = rowlock__end_expired(g->work, last, limit_ms, &ended);
    }
    if (!code && !ended)
        refuse(g, i, ROWLOCK_STATUS_LEASED, last);
    return code;
}

static int judge_leases(struct granting *g, size_t i, const struct rowlock_rows *leases)
{
    struct rowlock_asked asked = asked_of(g, i);
    struct rowlock_judged judged = rowlock__judge_leases(leases, &asked);

    if (judged.status == ROWLOCK_STATUS_EXPIRED)
        return clear(g, i, leases);
    if (judged.status != ROWLOCK_STATUS_OK)
        refuse(g, i, judged.status, judged.number);
    if (judged.status == ROWLOCK_STATUS_LIMIT)
        snprintf(g->detail, sizeof g->detail,
                 "it is held with limit %lld, but limit %lld was requested",
                 (long long)judged.limit, (long long)asked.limit);
    return ROWLOCK_OK;
}

static int look_leases(struct granting *g, size_t i)
{
    struct rowlock_rows leases = {.size = sizeof(struct rowlock_lease_row)};
    int code = rowlock__read_leases(g->work, g->wish[i].key, &g->owner, &leases);

    if (!code && i == 0)
        code = adopt_own(g, &leases);
    if (!code && !g->adopted)
        code = judge_leases(g, i, &leases);
    rowlock__rows_clear(&leases);
    return code;
}

/* Deletes the tickets before ours whose waiters have not reported in time. A request without a
   ticket deletes all such tickets. */
static int drop_dead(struct granting *g, struct rowlock_rows *waiters)
{
    struct rowlock_waiter_row *row = waiters->row;
    int code = ROWLOCK_OK;

    for (size_t i = 0; !code && i < waiters->n; i++) {
        struct rowlock_value ticket = rowlock__int_value(row[i].queued.ticket);

        if (row[i].queued.alive || (g->ticket && row[i].queued.ticket >= g->ticket))
            continue;
        code = rowlock__work_do(g->work, ROWLOCK_PLAIN_WAITER_EXPIRE, &ticket);
        row[i].queued.alive = !code && !g->work->affected; /* it has just reported */
    }
    return code;
}

static void take_own(struct granting *g, const struct rowlock_waiter_row *row)
{
    int64_t waited_ms = row->now_ms - row->since_ms;

    if (row->queued.own && row->queued.ticket != g->ticket)
        g->stray = true;
    if ((row->queued.own || row->queued.ticket == g->ticket) && waited_ms > g->waited_ms)
        g->waited_ms = waited_ms;
}

static int look_queue(struct granting *g, size_t i)
{
    struct rowlock_rows waiters = {.size = sizeof(struct rowlock_waiter_row)};
    struct rowlock_asked asked = asked_of(g, i);
    struct rowlock_judged judged;
    int code = rowlock__read_waiters(g->work, g->wish[i].key, g->ticket, &g->owner, &waiters);

    if (!code)
        code = drop_dead(g, &waiters);
    for (size_t j = 0; j < waiters.n; j++)
        take_own(g, &((const struct rowlock_waiter_row *)waiters.row)[j]);
    if (!code) {
        judged = rowlock__judge_queue(&waiters, &asked);
        if (judged.status != ROWLOCK_STATUS_OK)
            refuse(g, i, judged.status, judged.number);
    }
    rowlock__rows_clear(&waiters);
    return code;
}

static int insert_rows(struct granting *g, const struct rowlock_wish *wish)
{
    const struct rowlock_work *work = g->work;
    char kind[2] = {wish->kind, '\0'};
    int64_t rows = wish->kind == 'p' ? wish->count : 1;
    int code = ROWLOCK_OK;

    for (int64_t i = 0; !code && i < rows; i++) {
        struct rowlock_value values[] = {rowlock__text_value(wish->key),
                                         rowlock__int_value(g->token),
                                         rowlock__int_value(i),
                                         rowlock__text_value(kind),
                                         wish->kind == 'p' ? rowlock__int_value(wish->limit)
                                                           : rowlock__text_value(NULL),
                                         g->owner,
                                         rowlock__work_value(work, 6),
                                         rowlock__work_value(work, 7),
                                         rowlock__work_value(work, 8),
                                         rowlock__work_value(work, 9),
                                         rowlock__int_value(g->waited_ms)};

        code = rowlock__work_do(g->work, ROWLOCK_PLAIN_LEASE_ADD, values);
    }
    return code;
}

/* Inserts the lease and its heartbeat. `level`: of the history. */
static int insert(struct granting *g, int64_t level)
{
    int code = ROWLOCK_OK;
    struct rowlock_value beat[] = {rowlock__int_value(g->token), rowlock__int_value(g->ttl_ms),
                                   rowlock__int_value(rowlock__judge_quiet(level, g->waited_ms))};

    for (size_t i = 0; !code && i < g->n; i++)
        code = insert_rows(g, &g->wish[i]);
    if (!code)
        code = rowlock__work_do(g->work, ROWLOCK_PLAIN_HEARTBEAT_ADD, beat);
    return code;
}

static int leave_queue(struct granting *g)
{
    struct rowlock_value ticket = rowlock__int_value(g->ticket);

    if (g->stray)
        return rowlock__work_do(g->work, ROWLOCK_PLAIN_WAITER_LEAVE, &g->owner);
    if (!g->ticket)
        return ROWLOCK_OK;
    return rowlock__work_do(g->work, ROWLOCK_PLAIN_WAITER_DROP, &ticket);
}

/* Draws the token at once if the name has no leases and no tickets, where the engine has one
   statement for both. */
static int draw_if_free(struct granting *g, int64_t *level)
{
    struct rowlock_value key = rowlock__text_value(g->wish[0].key), values[] = {key, key};
    int code;

    if (g->n != 1 || g->ticket || !rowlock__work_can(g->work, ROWLOCK_PLAIN_DRAW_IF_FREE))
        return ROWLOCK_OK;
    code = rowlock__work_do(g->work, ROWLOCK_PLAIN_DRAW_IF_FREE, values);
    if (code || g->work->affected != 1)
        return code;
    return read_drawn(g->work, &g->token, level);
}

static int look_and_draw(struct granting *g, int64_t *level)
{
    int code = ROWLOCK_OK;

    for (size_t i = 0; !code && !g->adopted && g->status == ROWLOCK_STATUS_OK && i < g->n; i++)
        code = look_leases(g, i);
    for (size_t i = 0; !code && !g->adopted && g->status == ROWLOCK_STATUS_OK && i < g->n; i++)
        code = look_queue(g, i);
    if (!code && !g->adopted && g->status == ROWLOCK_STATUS_OK)
        code = rowlock__draw(g->work, &g->token, level);
    return code;
}

static int grant_under_locks(struct granting *g)
{
    int64_t level = 0;
    int code = draw_if_free(g, &level);

    if (!code && !g->token)
        code = look_and_draw(g, &level);
    if (!code && g->status == ROWLOCK_STATUS_OK && !g->adopted)
        code = insert(g, level);
    return code;
}

/* wants, owner, ttl_ms, wait_ms, ticket, session, host, pid, command, note -> grant row */
int rowlock__emulate_grant(struct rowlock_work *work)
{
    struct granting g = {.work = work,
                         .owner = rowlock__work_value(work, 1),
                         .ttl_ms = rowlock__work_int(work, 2),
                         .wait_ms = rowlock__work_int(work, 3),
                         .ticket = rowlock__work_int(work, 4)};
    int code = rowlock__wishes(work, &work->call->values[0], &g.wish, &g.n);

    if (!code)
        code = rowlock__name_lock_all(work, g.wish, g.n, g.wait_ms, &g.status, &g.at);
    if (!code && g.status == ROWLOCK_STATUS_OK)
        code = grant_under_locks(&g);
    if (!code && g.status == ROWLOCK_STATUS_OK)
        code = leave_queue(&g);
    if (!code)
        answer(&g);
    free(g.wish);
    return code;
}
