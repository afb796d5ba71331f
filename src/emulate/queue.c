/* SPDX-License-Identifier: Apache-2.0 */
/* The queue for leases: tickets, their places, and the roll call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulate/names.h"
#include "util/error.h"

/* Limit of the wait for the lock of a whole file. The driver polls for it at short intervals, so
   many new waiters would use up the processor. The machine retries with a growing backoff. */
#define BRIEFLY_MS 30

/* ---- enqueue --------------------------------------------------------------------------------- */

struct request {
    struct rowlock_work *work;
    struct rowlock_wish *wish;
    size_t n;
    struct rowlock_value owner;
    int64_t ticket;
};

static void answer_enqueued(const struct request *r, enum rowlock_status status, const char *key,
                            int64_t ticket, const char *detail)
{
    char name[256];
    struct rowlock_value hex = rowlock__text_value(key);
    struct rowlock_value columns[] = {rowlock__int_value(status),
                                      {.type = ROWLOCK_NULL},
                                      {.type = ROWLOCK_NULL},
                                      rowlock__int_value(ticket),
                                      rowlock__text_value(detail)};

    rowlock__key_name(r->work, &hex, name);
    if (key)
        columns[1] = rowlock__text_value(name);
    rowlock__work_answer(r->work, columns, 5);
}

/* Looks for another limit of the permits of a name; 0: none. */
static int look_limit(const struct request *r, size_t i, const struct rowlock_name_rows *rows,
                      char *detail, size_t size)
{
    struct rowlock_asked asked = {r->wish[i].kind, r->wish[i].limit, r->wish[i].count, r->ticket};
    struct rowlock_held *held = calloc(rows->leases.n + 1, sizeof *held);
    struct rowlock_queued *queued = calloc(rows->waiters.n + 1, sizeof *queued);
    bool is_held = false;
    int64_t other = 0;

    for (size_t j = 0; held && j < rows->leases.n; j++)
        held[j] = ((struct rowlock_lease_row *)rows->leases.row)[j].held;
    for (size_t j = 0; queued && j < rows->waiters.n; j++)
        queued[j] = ((struct rowlock_waiter_row *)rows->waiters.row)[j].queued;
    if (held && queued)
        other =
            rowlock__other_limit(held, rows->leases.n, queued, rows->waiters.n, &asked, &is_held);
    if (other)
        snprintf(detail, size, "it is %s with limit %lld, but limit %lld was requested",
                 is_held ? "held" : "waited for", (long long)other, (long long)asked.limit);
    free(held);
    free(queued);
    return other != 0;
}

static int read_name(const struct request *r, size_t i, struct rowlock_name_rows *rows)
{
    int code = rowlock__read_leases(r->work, r->wish[i].key, &r->owner, &rows->leases);

    return code ? code : rowlock__read_waiters(r->work, r->wish[i].key, &r->owner, &rows->waiters);
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

    return rowlock__work_ask(r->work, ROWLOCK_PLAIN_WAITER_ADD, values, NULL, NULL);
}

/* wants, owner, session, good_ms, host, pid, command, note -> grant row */
int rowlock__emulate_enqueue(struct rowlock_work *work)
{
    struct request r = {.work = work, .owner = rowlock__work_value(work, 1)};
    char detail[120] = "";
    size_t at = 0;
    int code = rowlock__wishes(work, &work->call->values[0], &r.wish, &r.n);

    if (!code && rowlock__work_is_whole(work))
        code = rowlock__work_begin_within(work, BRIEFLY_MS);
    if (!code)
        code = rowlock__work_ask(work, ROWLOCK_PLAIN_WAITER_LEAVE, &r.owner, NULL, NULL);
    if (!code)
        code = check_limits(&r, &at, detail, sizeof detail);
    if (!code && detail[0]) {
        answer_enqueued(&r, ROWLOCK_STATUS_LIMIT, r.wish[at].key, 0, detail);
    } else if (!code) {
        code = rowlock__draw(work, &r.ticket, NULL);
        for (size_t i = 0; !code && i < r.n; i++)
            code = stand(&r, &r.wish[i]);
        if (!code)
            answer_enqueued(&r, ROWLOCK_STATUS_OK, NULL, r.ticket, NULL);
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
    char detail[120];
    struct rowlock_rows dead; /* tickets before ours to be deleted */
};

static void add_dead(struct look *look, int64_t ticket)
{
    int64_t *dead = rowlock__rows_add(&look->dead);

    if (dead)
        *dead = ticket;
}

static void take_waiters(struct look *look, const struct rowlock_wish *wish,
                         const struct rowlock_rows *waiters)
{
    const struct rowlock_waiter_row *row = waiters->row;
    struct rowlock_asked asked = {wish->kind, wish->limit, wish->count, look->r.ticket};
    struct rowlock_judged judged = rowlock__judge_waiter_rows(waiters, &asked);

    for (size_t i = 0; i < waiters->n; i++) {
        look->now_ms = row[i].now_ms;
        if (row[i].queued.ticket == look->r.ticket) {
            look->own_rows++;
            look->stale = look->stale || row[i].queued.roll_call ||
                          row[i].alive_until_ms < row[i].now_ms + look->good_ms / 2;
        } else if (row[i].queued.ticket < look->r.ticket && !row[i].queued.alive) {
            add_dead(look, row[i].queued.ticket);
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
    struct rowlock_judged judged = rowlock__judge_lease_rows(leases, &asked);
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

static int stay_alive(struct look *look)
{
    struct rowlock_value values[] = {rowlock__int_value(look->good_ms),
                                     rowlock__int_value(look->r.ticket)};
    int code = ROWLOCK_OK;

    if (look->stale)
        code = rowlock__work_ask(look->r.work, ROWLOCK_PLAIN_WAITER_ALIVE, values, NULL, NULL);
    for (size_t i = 0; !code && i < look->dead.n; i++) {
        struct rowlock_value ticket = rowlock__int_value(((int64_t *)look->dead.row)[i]);

        code = rowlock__work_ask(look->r.work, ROWLOCK_PLAIN_WAITER_EXPIRE, &ticket, NULL, NULL);
    }
    return code;
}

static enum rowlock_status place_of(const struct look *look)
{
    if (look->own_rows < look->r.n)
        return ROWLOCK_STATUS_UNQUEUED;
    if (look->limited)
        return ROWLOCK_STATUS_LIMIT;
    if (look->number)
        return ROWLOCK_STATUS_QUEUED;
    return look->leased_at ? ROWLOCK_STATUS_LEASED : ROWLOCK_STATUS_OK;
}

static void answer_place(const struct look *look)
{
    enum rowlock_status status = place_of(look);
    bool queued = status == ROWLOCK_STATUS_QUEUED, leased = status == ROWLOCK_STATUS_LEASED;
    int64_t left_ms = look->way_expires_ms - look->now_ms;
    struct rowlock_value key =
        rowlock__text_value(status == ROWLOCK_STATUS_LIMIT ? look->r.wish[look->limit_at].key
                            : queued                       ? look->queued_at
                            : leased                       ? look->leased_at
                                                           : NULL);
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
                                      {.type = ROWLOCK_NULL}};

    rowlock__key_name(look->r.work, &key, name);
    if (name[0])
        columns[6] = rowlock__text_value(name);
    if (status == ROWLOCK_STATUS_LIMIT)
        columns[7] = rowlock__text_value(look->detail);
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
    int code = rowlock__wishes(work, &work->call->values[0], &look.r.wish, &look.r.n);

    if (rowlock__work_is_whole(work)) /* a look without a write delays no renewal */
        work->begins = 0;
    for (size_t i = 0; !code && i < look.r.n; i++)
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

/* ---- the roll call --------------------------------------------------------------------------- */

/* Takes the name locks, and looks whether a live lease conflicts. */
static int visit(const struct request *r, int64_t limit_ms, bool *free_now)
{
    enum rowlock_status status;
    size_t at;
    int code = rowlock__name_lock_all(r->work, r->wish, r->n, limit_ms, &status, &at);

    *free_now = !code && status == ROWLOCK_STATUS_OK;
    for (size_t i = 0; !code && *free_now && i < r->n; i++) {
        struct rowlock_rows leases = {.size = sizeof(struct rowlock_lease_row)};
        struct rowlock_asked asked = {r->wish[i].kind, r->wish[i].limit, r->wish[i].count,
                                      r->ticket};
        enum rowlock_status lease;

        code = rowlock__read_leases(r->work, r->wish[i].key, NULL, &leases);
        lease = rowlock__judge_lease_rows(&leases, &asked).status;
        *free_now = lease == ROWLOCK_STATUS_OK || lease == ROWLOCK_STATUS_EXPIRED;
        rowlock__rows_clear(&leases);
    }
    return code;
}

static int call_roll(const struct request *r, int64_t *number)
{
    int code = rowlock__draw(r->work, number, NULL);

    for (size_t i = 0; !code && i < r->n; i++) {
        struct rowlock_value values[] = {rowlock__int_value(*number),
                                         rowlock__text_value(r->wish[i].key),
                                         rowlock__int_value(r->ticket)};

        code = rowlock__work_ask(r->work, ROWLOCK_PLAIN_WAITER_CALL, values, NULL, NULL);
    }
    return code;
}

static bool is_ours(const struct request *r, const char *key)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->wish[i].key, key) == 0)
            return true;
    return false;
}

/* Whether a waiter is silent because it waits for the name lock of another name. It is not frozen
   then. */
static int is_blocked(const struct request *r, int64_t ticket, bool *blocked)
{
    struct rowlock_rows names = {.size = sizeof(struct rowlock_key_row)};
    struct rowlock_value value = rowlock__int_value(ticket);
    int code =
        rowlock__work_ask(r->work, ROWLOCK_PLAIN_WAITER_NAMES, &value, rowlock__take_key, &names);
    const struct rowlock_key_row *row = names.row;
    enum rowlock_status status = ROWLOCK_STATUS_OK;

    for (size_t i = 0; !code && status == ROWLOCK_STATUS_OK && i < names.n; i++)
        if (!is_ours(r, row[i].key))
            code = rowlock__name_lock(r->work, row[i].key, false, 0, &status);
    *blocked = status == ROWLOCK_STATUS_BUSY;
    rowlock__rows_clear(&names);
    return code;
}

/* The tickets before ours that have not answered this roll call or an earlier one. */
static int find_silent(const struct request *r, int64_t called, struct rowlock_rows *silent)
{
    int code = ROWLOCK_OK;

    for (size_t i = 0; !code && i < r->n; i++) {
        struct rowlock_rows waiters = {.size = sizeof(struct rowlock_waiter_row)};
        const struct rowlock_waiter_row *row;
        int64_t *ticket;

        code = rowlock__read_waiters(r->work, r->wish[i].key, NULL, &waiters);
        row = waiters.row;
        for (size_t j = 0; !code && j < waiters.n; j++)
            if (row[j].queued.ticket < r->ticket && row[j].queued.roll_call &&
                row[j].queued.roll_call <= called && (ticket = rowlock__rows_add(silent)))
                *ticket = row[j].queued.ticket;
        rowlock__rows_clear(&waiters);
    }
    return code;
}

/* Removes a waiter that is still silent: it may have answered after its row was read. Also drops
   its rows of other names, which the roll call may not have marked. */
static int strike(struct rowlock_work *work, int64_t ticket, int64_t called)
{
    struct rowlock_value values[] = {rowlock__int_value(ticket), rowlock__int_value(called)};
    int code = rowlock__work_ask(work, ROWLOCK_PLAIN_WAITER_STRIKE, values, NULL, NULL);

    if (!code && work->affected)
        code = rowlock__work_ask(work, ROWLOCK_PLAIN_WAITER_DROP, values, NULL, NULL);
    return code;
}

/* A refused name lock may undo the transaction: then nothing was removed, and the visit is
   repeated. */
static int drop_silent(const struct request *r, int64_t called, int64_t *number)
{
    struct rowlock_rows silent = {.size = sizeof(int64_t)};
    int code = find_silent(r, called, &silent);
    bool blocked = false;

    *number = called;
    for (size_t i = 0; !code && !r->work->undone && i < silent.n; i++) {
        int64_t ticket = ((int64_t *)silent.row)[i];

        code = is_blocked(r, ticket, &blocked);
        if (!code && !blocked)
            code = strike(r->work, ticket, called);
    }
    if (r->work->undone)
        *number = 0;
    rowlock__rows_clear(&silent);
    return code;
}

/* wants, ticket, roll_call, limit_ms -> number */
int rowlock__emulate_overtake(struct rowlock_work *work)
{
    struct request r = {.work = work, .ticket = rowlock__work_int(work, 1)};
    int64_t called = rowlock__work_int(work, 2), number = 0;
    bool free_now = false;
    int code = rowlock__wishes(work, &work->call->values[0], &r.wish, &r.n);

    if (!code)
        code = visit(&r, rowlock__work_int(work, 3), &free_now);
    if (!code && free_now)
        code = called ? drop_silent(&r, called, &number) : call_roll(&r, &number);
    if (!code)
        rowlock__work_number(work, number);
    free(r.wish);
    return code;
}

/* ticket, owner */
int rowlock__emulate_withdraw(struct rowlock_work *work)
{
    struct rowlock_value ticket = rowlock__work_value(work, 0);
    struct rowlock_value owner = rowlock__work_value(work, 1);
    int code = rowlock__log_waiter(work, rowlock__work_int(work, 0), owner);

    if (code)
        return code;
    return rowlock__work_int(work, 0)
               ? rowlock__work_ask(work, ROWLOCK_PLAIN_WAITER_DROP, &ticket, NULL, NULL)
               : rowlock__work_ask(work, ROWLOCK_PLAIN_WAITER_LEAVE, &owner, NULL, NULL);
}
