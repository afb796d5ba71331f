/* SPDX-License-Identifier: Apache-2.0 */
/* The queue for leases: tickets and their places. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulate/names.h"
#include "util/clock.h"
#include "util/error.h"

#define NEAR 1     /* a waiter with more before it only learns its place, */
#define CALLERS 16 /* the roll is called by one with no more than these before it */
#define PLACES 300 /* counted up to this: its pause does not grow any more (machine/queue.c) */

/* ---- enqueue --------------------------------------------------------------------------------- */

struct request {
    struct rowlock_work *work;
    struct rowlock_wish *wish;
    size_t n;
    struct rowlock_value owner;
    int64_t ticket;
};

/* Looks for another limit of the permits of a name; 0: none. */
static int look_limit(const struct request *r, size_t i, const struct rowlock_name_rows *rows,
                      char *detail, size_t size)
{
    struct rowlock_asked asked = {r->wish[i].kind, r->wish[i].limit, r->wish[i].count, r->ticket};
    bool is_held;
    int64_t other = rowlock__other_limit(&rows->leases, &rows->waiters, &asked, &is_held);

    if (other)
        snprintf(detail, size, "it is %s with limit %lld, but limit %lld was requested",
                 is_held ? "held" : "waited for", (long long)other, (long long)asked.limit);
    return other != 0;
}

static int read_name(const struct request *r, size_t i, struct rowlock_name_rows *rows)
{
    int code = rowlock__read_leases(r->work, r->wish[i].key, &r->owner, &rows->leases);

    return code ? code
                : rowlock__read_waiters(r->work, r->wish[i].key, r->ticket, &r->owner,
                                        &rows->waiters);
}

/* Finds a permit whose name is held or waited for with another limit. */
static int check_limits(const struct request *r, size_t *at, char *detail, size_t size)
{
    int code = ROWLOCK_OK;

    for (*at = 0; !code && *at < r->n; ++*at) {
        struct rowlock_name_rows rows = ROWLOCK_NAME_ROWS;
        int found = 0;

        if (r->wish[*at].kind != 'p')
            continue;
        code = read_name(r, *at, &rows);
        if (!code)
            found = look_limit(r, *at, &rows, detail, size);
        rowlock__name_rows_clear(&rows);
        if (found)
            break;
    }
    return code;
}

static int stand(const struct request *r, const struct rowlock_wish *wish)
{
    const struct rowlock_work *work = r->work;
    char kind[2] = {wish->kind, '\0'};
    struct rowlock_value values[] = {rowlock__text_value(wish->key),
                                     rowlock__int_value(r->ticket),
                                     rowlock__text_value(kind),
                                     wish->kind == 'p' ? rowlock__int_value(wish->limit)
                                                       : rowlock__text_value(NULL),
                                     rowlock__int_value(wish->kind == 'p' ? wish->count : 1),
                                     r->owner,
                                     rowlock__work_value(work, 4),
                                     rowlock__work_value(work, 5),
                                     rowlock__work_value(work, 6),
                                     rowlock__work_value(work, 7),
                                     rowlock__work_value(work, 3)};

    return rowlock__work_do(r->work, ROWLOCK_PLAIN_WAITER_ADD, values);
}

/* wants, owner, session, good_ms, host, pid, command, note -> grant row */
int rowlock__emulate_enqueue(struct rowlock_work *work)
{
    struct request r = {.work = work, .owner = rowlock__work_value(work, 1)};
    struct rowlock_value no_token = {.type = ROWLOCK_NULL};
    char detail[120] = "";
    size_t at = 0;
    int code = rowlock__wishes(work, &work->call->values[0], &r.wish, &r.n);

    /* one try: a crowd that polls would use up the processor, and the machine backs off */
    if (!code)
        code = rowlock__work_begin_within(work, 0);
    if (!code)
        code = rowlock__work_do(work, ROWLOCK_PLAIN_WAITER_LEAVE, &r.owner);
    if (!code)
        code = check_limits(&r, &at, detail, sizeof detail);
    if (!code && detail[0]) {
        rowlock__answer_grant(work, ROWLOCK_STATUS_LIMIT, r.wish[at].key, no_token, 0, detail);
    } else if (!code) {
        code = rowlock__draw(work, &r.ticket, NULL);
        for (size_t i = 0; !code && i < r.n; i++)
            code = stand(&r, &r.wish[i]);
        if (!code)
            rowlock__answer_grant(work, ROWLOCK_STATUS_OK, NULL, no_token, r.ticket, "");
    }
    free(r.wish);
    return code;
}

/* ---- place ----------------------------------------------------------------------------------- */

/* The findings over all names of a request. */
struct look {
    struct request r;
    int64_t good_ms, before, number, way, way_expires_ms, now_ms;
    const char *queued_at, *leased_at; /* keys */
    size_t own_rows, limit_at;
    bool stale, limited; /* a sign of life is due; a permit has another limit */
    bool far;            /* only the place is known */
    char detail[120];
    struct rowlock_rows dead; /* tickets before ours to be deleted */
};

/* A sign of life, or an answer to a roll call, is due. */
static bool is_stale(const struct look *look, int64_t alive_until_ms, int64_t roll_call)
{
    return roll_call || alive_until_ms < look->now_ms + look->good_ms / 2;
}

static void take_waiters(struct look *look, const struct rowlock_wish *wish,
                         const struct rowlock_rows *waiters)
{
    const struct rowlock_waiter_row *row = waiters->row;
    struct rowlock_asked asked = {wish->kind, wish->limit, wish->count, look->r.ticket};
    struct rowlock_judged judged = rowlock__judge_queue(waiters, &asked);

    for (size_t i = 0; i < waiters->n; i++) {
        look->now_ms = row[i].now_ms;
        if (row[i].queued.ticket == look->r.ticket) {
            look->own_rows++;
            look->stale =
                look->stale || is_stale(look, row[i].alive_until_ms, row[i].queued.roll_call);
        } else if (row[i].queued.ticket < look->r.ticket && !row[i].queued.alive) {
            int64_t *dead = rowlock__rows_add(&look->dead);

            if (dead)
                *dead = row[i].queued.ticket;
        }
    }
    if (judged.status != ROWLOCK_STATUS_QUEUED)
        return;
    if (judged.before > look->before)
        look->before = judged.before;
    if (judged.number > look->number) {
        look->number = judged.number;
        look->queued_at = wish->key;
    }
}

static void take_leases(struct look *look, const struct rowlock_wish *wish,
                        const struct rowlock_rows *leases)
{
    struct rowlock_asked asked = {wish->kind, wish->limit, wish->count, look->r.ticket};
    struct rowlock_judged judged = rowlock__judge_leases(leases, &asked);
    const struct rowlock_lease_row *row = leases->row;

    for (size_t i = 0; i < leases->n; i++)
        if (row[i].has_beat)
            look->now_ms = row[i].now_ms;
    if (judged.status != ROWLOCK_STATUS_LEASED)
        return;
    if (!look->leased_at || judged.expires_ms < look->way_expires_ms) {
        look->leased_at = wish->key;
        look->way = judged.number;
        look->way_expires_ms = judged.expires_ms;
    }
}

static int look_at(struct look *look, size_t i)
{
    struct rowlock_name_rows rows = ROWLOCK_NAME_ROWS;
    int code = read_name(&look->r, i, &rows);

    if (!code) {
        take_waiters(look, &look->r.wish[i], &rows.waiters);
        take_leases(look, &look->r.wish[i], &rows.leases);
        if (!look->limited && look_limit(&look->r, i, &rows, look->detail, sizeof look->detail)) {
            look->limited = true;
            look->limit_at = i;
        }
    }
    rowlock__name_rows_clear(&rows);
    return code;
}

/* before, previous ticket, life, alive_until, roll_call, now_ms, leased */
static void far_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct look *look = data;

    if (n < 7 || rowlock__value_number(&columns[0]) <= NEAR || !rowlock__value_number(&columns[2]))
        return;
    look->before = rowlock__value_number(&columns[0]);
    look->number = rowlock__value_number(&columns[1]);
    look->queued_at = look->r.wish[0].key;
    look->now_ms = rowlock__value_number(&columns[5]);
    look->own_rows = 1;
    if (look->before > CALLERS || rowlock__value_number(&columns[6]))
        look->leased_at = look->queued_at; /* a name that seems free makes a waiter call the roll */
    look->far = true;
    look->stale =
        is_stale(look, rowlock__value_number(&columns[3]), rowlock__value_number(&columns[4]));
}

/* Takes the write lock of a whole file for a sign of life. A crowd that polled for it as often as
   the holder does would delay the release. The signs of the first waiters are short: they poll as
   the driver does, so that a long transaction of another session costs none of them its place. */
static int begin_politely(struct rowlock_work *work, int64_t before)
{
    const struct rowlock_budget *budget = work->budget;
    struct rowlock_pause far = ROWLOCK_PAUSE_LEASE, near = ROWLOCK_PAUSE_SQLITE;
    struct rowlock_pause pause = before > CALLERS ? far : near;
    int code = rowlock__work_begin_within(work, 0);

    while (code == ROWLOCK_ETIMEDOUT) {
        enum rowlock_wake wake = rowlock__pause(&pause, budget->interrupt_fd, budget->deadline_ms);

        if (wake == ROWLOCK_WAKE_DEADLINE)
            return code;
        if (wake == ROWLOCK_WAKE_INTERRUPT)
            return rowlock__fail(work->error, ROWLOCK_ECANCELED, "interrupted");
        rowlock__clear_error(work->error);
        code = rowlock__work_begin_within(work, 0);
    }
    return code;
}

static int stay_alive(struct look *look)
{
    struct rowlock_value values[] = {rowlock__int_value(look->good_ms),
                                     rowlock__int_value(look->r.ticket)};
    int code = ROWLOCK_OK;

    if (rowlock__work_is_whole(look->r.work) && (look->stale || look->dead.n))
        code = begin_politely(look->r.work, look->before);
    if (!code && look->stale)
        code = rowlock__work_do(look->r.work, ROWLOCK_PLAIN_WAITER_ALIVE, values);
    for (size_t i = 0; !code && i < look->dead.n; i++) {
        struct rowlock_value ticket = rowlock__int_value(((int64_t *)look->dead.row)[i]);

        code = rowlock__work_do(look->r.work, ROWLOCK_PLAIN_WAITER_EXPIRE, &ticket);
    }
    return code;
}

static void answer_place(const struct look *look)
{
    enum rowlock_status status = look->own_rows < look->r.n ? ROWLOCK_STATUS_UNQUEUED
                                 : look->limited            ? ROWLOCK_STATUS_LIMIT
                                 : look->number             ? ROWLOCK_STATUS_QUEUED
                                 : look->leased_at          ? ROWLOCK_STATUS_LEASED
                                                            : ROWLOCK_STATUS_OK;
    bool queued = status == ROWLOCK_STATUS_QUEUED, leased = status == ROWLOCK_STATUS_LEASED;
    bool limited = status == ROWLOCK_STATUS_LIMIT;
    int64_t left_ms = look->way_expires_ms - look->now_ms;
    const char *key = limited  ? look->r.wish[look->limit_at].key
                      : queued ? look->queued_at
                      : leased ? look->leased_at
                               : NULL;
    char name[256];
    struct rowlock_value columns[] = {rowlock__int_value(status),
                                      rowlock__int_value(queued   ? look->number
                                                         : leased ? look->way
                                                                  : 0),
                                      rowlock__int_value(look->before),
                                      rowlock__int_value(look->leased_at == NULL),
                                      rowlock__int_value(leased && left_ms > 0 ? left_ms : 0),
                                      rowlock__int_value(0),
                                      {.type = ROWLOCK_NULL},
                                      rowlock__text_value(limited ? look->detail : NULL)};

    rowlock__key_name(look->r.work, rowlock__text_value(key), name);
    if (name[0])
        columns[6] = rowlock__text_value(name);
    rowlock__work_answer(look->r.work, columns, 8);
}

/* wants, ticket, session, good_ms -> place row. It reads without the name lock, because it only
   advises: grant decides. It writes only if a sign of life is due, so that most looks cost no
   write. */
int rowlock__emulate_place(struct rowlock_work *work)
{
    struct look look = {
        .r = {.work = work, .owner = {.type = ROWLOCK_NULL}, .ticket = rowlock__work_int(work, 1)},
        .good_ms = rowlock__work_int(work, 3),
        .dead = {.size = sizeof(int64_t)}};
    unsigned begins = work->begins;
    struct rowlock_value values[3];
    int code = rowlock__wishes(work, &work->call->values[0], &look.r.wish, &look.r.n);

    if (rowlock__work_is_whole(work)) /* a look without a write delays no renewal */
        work->begins = 0;
    /* the look of a waiter far behind living ones, where the engine has a statement for it */
    if (!code && look.r.n == 1 && look.r.wish->kind == 'x' &&
        rowlock__work_can(work, ROWLOCK_PLAIN_WAITER_FAR)) {
        values[0] = rowlock__int_value(PLACES);
        values[1] = rowlock__text_value(look.r.wish->key);
        values[2] = rowlock__int_value(look.r.ticket);
        code = rowlock__work_ask(work, ROWLOCK_PLAIN_WAITER_FAR, values, far_row, &look);
    }
    for (size_t i = 0; !code && !look.far && i < look.r.n; i++)
        code = look_at(&look, i);
    work->begins = rowlock__work_is_whole(work) ? begins : work->begins;
    if (!code)
        code = stay_alive(&look);
    if (!code)
        answer_place(&look);
    rowlock__rows_clear(&look.dead);
    free(look.r.wish);
    return code;
}

/* There are no session locks to wait for. */
int rowlock__emulate_await(struct rowlock_work *work)
{
    return rowlock__work_number(work, 0);
}

/* ---- withdraw -------------------------------------------------------------------------------- */

/* ticket, owner */
int rowlock__emulate_withdraw(struct rowlock_work *work)
{
    struct rowlock_value ticket = rowlock__work_value(work, 0);
    struct rowlock_value owner = rowlock__work_value(work, 1);
    int code = rowlock__log_waiter(work, rowlock__work_int(work, 0), owner);

    if (code)
        return code;
    return rowlock__work_int(work, 0) ? rowlock__work_do(work, ROWLOCK_PLAIN_WAITER_DROP, &ticket)
                                      : rowlock__work_do(work, ROWLOCK_PLAIN_WAITER_LEAVE, &owner);
}
