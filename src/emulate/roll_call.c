/* SPDX-License-Identifier: Apache-2.0 */
/* The roll call: passes waiters that do not answer. */
#include <stdlib.h>
#include <string.h>

#include "emulate/names.h"

struct request {
    struct rowlock_work *work;
    struct rowlock_wish *wish;
    size_t n;
    int64_t ticket;
};

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
        lease = rowlock__judge_leases(&leases, &asked).status;
        *free_now = lease == ROWLOCK_STATUS_OK || lease == ROWLOCK_STATUS_EXPIRED;
        rowlock__rows_clear(&leases);
    }
    return code;
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

    for (size_t i = 0, own; !code && status == ROWLOCK_STATUS_OK && i < names.n; i++) {
        for (own = 0; own < r->n && strcmp(r->wish[own].key, row[i].key) != 0; own++)
            continue;
        if (own == r->n) /* a name that we have not locked */
            code = rowlock__name_lock(r->work, row[i].key, false, 0, &status);
    }
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

        code = rowlock__read_waiters(r->work, r->wish[i].key, r->ticket, NULL, &waiters);
        row = waiters.row;
        for (size_t j = 0; !code && j < waiters.n; j++)
            if (row[j].queued.ticket < r->ticket && row[j].queued.roll_call &&
                row[j].queued.roll_call <= called && (ticket = rowlock__rows_add(silent)))
                *ticket = row[j].queued.ticket;
        rowlock__rows_clear(&waiters);
    }
    return code;
}

/* Removes the waiters that are still silent: one may have answered after its row was read. Also
   drops their rows of other names, which the roll call may not have marked. A refused name lock may
   undo the transaction: then nothing was removed, and the visit is repeated. */
static int drop_silent(const struct request *r, int64_t called, int64_t *number)
{
    struct rowlock_rows silent = {.size = sizeof(int64_t)};
    int code = find_silent(r, called, &silent);
    bool blocked = false;

    *number = called;
    for (size_t i = 0; !code && !r->work->undone && i < silent.n; i++) {
        int64_t ticket = ((int64_t *)silent.row)[i];
        struct rowlock_value values[] = {rowlock__int_value(ticket), rowlock__int_value(called)};

        code = is_blocked(r, ticket, &blocked);
        if (code || blocked)
            continue;
        code = rowlock__work_do(r->work, ROWLOCK_PLAIN_WAITER_STRIKE, values);
        if (!code && r->work->affected)
            code = rowlock__work_do(r->work, ROWLOCK_PLAIN_WAITER_DROP, values);
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
    if (!code && free_now && called)
        code = drop_silent(&r, called, &number);
    else if (!code && free_now)
        code = rowlock__draw(work, &number, NULL);
    for (size_t i = 0; !code && free_now && !called && i < r.n; i++) { /* calls the roll */
        struct rowlock_value values[] = {rowlock__int_value(number),
                                         rowlock__text_value(r.wish[i].key),
                                         rowlock__int_value(r.ticket)};

        code = rowlock__work_do(work, ROWLOCK_PLAIN_WAITER_CALL, values);
    }
    if (!code)
        rowlock__work_number(work, number);
    free(r.wish);
    return code;
}
