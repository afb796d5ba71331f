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

static void refuse(struct granting *g, size_t i, enum rowlock_status status, int64_t number)
{
    g->at = i;
    g->status = status;
    g->number = number;
}

/* Adopts the lease of the first name that an earlier try of this call was granted: it lasts ttl_ms
   from now. If it was broken since, it is released, and the leases are read again. */
static int adopt_own(struct granting *g, struct rowlock_rows *leases)
{
    const struct rowlock_lease_row *row = leases->row;
    struct rowlock_value values[3];
    int64_t own = 0;
    bool was;
    int code;

    for (size_t i = 0; i < leases->n; i++)
        own = row[i].held.own ? row[i].held.token : own;
    if (!own)
        return ROWLOCK_OK;
    values[0] = values[1] = rowlock__int_value(g->ttl_ms);
    values[2] = rowlock__int_value(own);
    code = rowlock__work_do(g->work, ROWLOCK_PLAIN_HEARTBEAT_RENEW, values);
    g->adopted = !code && g->work->affected > 0;
    if (g->adopted)
        g->token = own;
    else if (!code)
        code = rowlock__end_lease_rows(g->work, own, &was);
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

static int look_leases(struct granting *g, size_t i)
{
    const struct rowlock_wish *wish = &g->wish[i];
    struct rowlock_rows leases = {.size = sizeof(struct rowlock_lease_row)};
    struct rowlock_asked asked = {wish->kind, wish->limit, wish->count, g->ticket};
    struct rowlock_judged judged = {.status = ROWLOCK_STATUS_OK};
    int code = rowlock__read_leases(g->work, g->wish[i].key, &g->owner, &leases);

    if (!code && i == 0)
        code = adopt_own(g, &leases);
    if (!code && !g->adopted)
        judged = rowlock__judge_leases(&leases, &asked);
    if (judged.status == ROWLOCK_STATUS_EXPIRED)
        code = clear(g, i, &leases);
    else if (judged.status != ROWLOCK_STATUS_OK)
        refuse(g, i, judged.status, judged.number);
    if (judged.status == ROWLOCK_STATUS_LIMIT)
        snprintf(g->detail, sizeof g->detail,
                 "it is held with limit %lld, but limit %lld was requested",
                 (long long)judged.limit, (long long)asked.limit);
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

static int look_queue(struct granting *g, size_t i)
{
    const struct rowlock_wish *wish = &g->wish[i];
    struct rowlock_rows waiters = {.size = sizeof(struct rowlock_waiter_row)};
    struct rowlock_asked asked = {wish->kind, wish->limit, wish->count, g->ticket};
    struct rowlock_judged judged;
    const struct rowlock_waiter_row *row;
    int code = rowlock__read_waiters(g->work, g->wish[i].key, g->ticket, &g->owner, &waiters);

    if (!code)
        code = drop_dead(g, &waiters);
    row = waiters.row;
    for (size_t j = 0; j < waiters.n; j++) {
        bool ours = row[j].queued.ticket == g->ticket;

        g->stray = g->stray || (row[j].queued.own && !ours);
        if (row[j].queued.own || ours)
            g->waited_ms = rowlock__most(g->waited_ms, row[j].now_ms - row[j].since_ms);
    }
    if (!code) {
        judged = rowlock__judge_queue(&waiters, &asked);
        if (judged.status != ROWLOCK_STATUS_OK)
            refuse(g, i, judged.status, judged.number);
    }
    rowlock__rows_clear(&waiters);
    return code;
}

/* Inserts the lease, with a row for each permit, and its heartbeat. `level`: of the history. */
static int insert(struct granting *g, int64_t level)
{
    const struct rowlock_work *work = g->work;
    struct rowlock_value beat[] = {rowlock__int_value(g->token), rowlock__int_value(g->ttl_ms),
                                   rowlock__int_value(rowlock__judge_quiet(level, g->waited_ms))};
    int code = ROWLOCK_OK;

    for (size_t i = 0; !code && i < g->n; i++) {
        const struct rowlock_wish *wish = &g->wish[i];
        bool permits = wish->kind == 'p';
        char kind[2] = {wish->kind, '\0'};
        struct rowlock_value values[] = {rowlock__text_value(wish->key),
                                         rowlock__int_value(g->token),
                                         rowlock__int_value(0),
                                         rowlock__text_value(kind),
                                         rowlock__optional_value(permits, wish->limit),
                                         g->owner,
                                         rowlock__work_value(work, 6),
                                         rowlock__work_value(work, 7),
                                         rowlock__work_value(work, 8),
                                         rowlock__work_value(work, 9),
                                         rowlock__int_value(g->waited_ms)};

        for (int64_t row = 0; !code && row < (permits ? wish->count : 1); row++) {
            values[2] = rowlock__int_value(row);
            code = rowlock__work_do(g->work, ROWLOCK_PLAIN_LEASE_ADD, values);
        }
    }
    if (!code)
        code = rowlock__work_do(g->work, ROWLOCK_PLAIN_HEARTBEAT_ADD, beat);
    return code;
}

static int grant_under_locks(struct granting *g)
{
    struct rowlock_value key = rowlock__text_value(g->wish[0].key), values[] = {key, key};
    int64_t level = 0;
    int code = ROWLOCK_OK;

    /* draws the token at once if the name has no leases and no tickets, where the engine has one
       statement for both */
    if (g->n == 1 && !g->ticket && rowlock__work_can(g->work, ROWLOCK_PLAIN_DRAW_IF_FREE)) {
        code = rowlock__work_do(g->work, ROWLOCK_PLAIN_DRAW_IF_FREE, values);
        if (!code && g->work->affected == 1)
            code = read_drawn(g->work, &g->token, &level);
    }
    if (!code && !g->token) {
        for (size_t i = 0; !code && !g->adopted && g->status == ROWLOCK_STATUS_OK && i < g->n; i++)
            code = look_leases(g, i);
        for (size_t i = 0; !code && !g->adopted && g->status == ROWLOCK_STATUS_OK && i < g->n; i++)
            code = look_queue(g, i);
        if (!code && !g->adopted && g->status == ROWLOCK_STATUS_OK)
            code = rowlock__draw(g->work, &g->token, &level);
    }
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
    struct rowlock_value ticket = rowlock__int_value(g.ticket);
    bool refused;
    int code = rowlock__wishes(work, &work->call->values[0], &g.wish, &g.n);

    if (!code)
        code = rowlock__name_lock_all(work, g.wish, g.n, g.wait_ms, &g.status, &g.at);
    if (!code && g.status == ROWLOCK_STATUS_OK)
        code = grant_under_locks(&g);
    if (!code && g.status == ROWLOCK_STATUS_OK && g.stray)
        code = rowlock__work_do(work, ROWLOCK_PLAIN_WAITER_LEAVE, &g.owner);
    else if (!code && g.status == ROWLOCK_STATUS_OK && g.ticket)
        code = rowlock__work_do(work, ROWLOCK_PLAIN_WAITER_DROP, &ticket);
    refused = g.status != ROWLOCK_STATUS_OK && g.at < g.n;
    if (!code)
        rowlock__answer_grant(work, g.status, refused ? g.wish[g.at].key : NULL,
                              rowlock__int_value(g.token), g.number, g.detail);
    free(g.wish);
    return code;
}
