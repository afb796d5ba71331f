/* SPDX-License-Identifier: Apache-2.0 */
/* Transaction locks: the name lock of each name, and then its leases. */
#include <stdlib.h>

#include "emulate/names.h"
#include "util/clock.h"
#include "util/error.h"

#define LOOK_MS 250
#define LOOKS 3       /* tries: a vacuum may delete the row of a name while we wait for it */
#define SLICE_MS 2000 /* the first slice of a wait, where the server may forget a waiter */

static int64_t left_of(int64_t limit_ms, int64_t deadline_ms)
{
    int64_t left;

    if (limit_ms <= 0)
        return limit_ms;
    left = deadline_ms - rowlock__now_ms();
    return left < 1 ? 1 : left;
}

/* ---- the name lock --------------------------------------------------------------------------- */

int rowlock__name_lock(struct rowlock_work *work, const char *key, bool shared, int64_t limit_ms,
                       enum rowlock_status *status)
{
    struct rowlock_value name = rowlock__text_value(key);
    enum rowlock_plain_id id = ROWLOCK_PLAIN_NAME_LOCK;
    bool busy = false, tries = limit_ms == 0;
    int code = ROWLOCK_OK;

    if (shared && tries && rowlock__work_can(work, ROWLOCK_PLAIN_NAME_TRY_SHARE))
        id = ROWLOCK_PLAIN_NAME_TRY_SHARE;
    else if (shared && rowlock__work_can(work, ROWLOCK_PLAIN_NAME_SHARE))
        id = ROWLOCK_PLAIN_NAME_SHARE;
    else if (tries && rowlock__work_can(work, ROWLOCK_PLAIN_NAME_TRY))
        id = ROWLOCK_PLAIN_NAME_TRY;
    if (rowlock__work_is_whole(work)) {
        /* Takes the lock of the whole file. Our own transaction has it from its beginning if the
           file can be written; the caller's transaction may not have it yet. */
        code = rowlock__work_begin_within(work, limit_ms);
        if (!code)
            code = rowlock__work_do(work, ROWLOCK_PLAIN_NAME_LOCK, NULL);
        *status = ROWLOCK_STATUS_OK;
        if (code != ROWLOCK_ETIMEDOUT)
            return code;
        *status = limit_ms ? ROWLOCK_STATUS_TIMEDOUT : ROWLOCK_STATUS_BUSY;
        rowlock__clear_error(work->error);
        return ROWLOCK_OK;
    }
    *status = ROWLOCK_STATUS_UNPREPARED;
    for (int i = 0; !code && !busy && *status == ROWLOCK_STATUS_UNPREPARED && i < LOOKS; i++) {
        code = rowlock__work_ask_within(work, id, &name, limit_ms, &busy);
        if (!code && !busy && work->affected > 0)
            *status = ROWLOCK_STATUS_OK;
    }
    if (!code && busy)
        *status = limit_ms ? ROWLOCK_STATUS_TIMEDOUT : ROWLOCK_STATUS_BUSY;
    return code;
}

static int lock_slice(struct rowlock_work *work, const struct rowlock_wish *wish, size_t n,
                      int64_t limit_ms, int64_t deadline_ms, int64_t slice_ms,
                      enum rowlock_status *status, size_t *at)
{
    int64_t end_ms = rowlock__after(rowlock__now_ms(), slice_ms);
    int code = ROWLOCK_OK;

    if (limit_ms != 0 && work->own && work->link->dialect->plain->forgets_waiters &&
        end_ms < deadline_ms) {
        limit_ms = slice_ms;
        deadline_ms = end_ms;
    }
    *status = ROWLOCK_STATUS_OK;
    for (*at = 0; !code && *at < n; ++*at) {
        code = rowlock__name_lock(work, wish[*at].key, wish[*at].kind == 's',
                                  left_of(limit_ms, deadline_ms), status);
        if (*status != ROWLOCK_STATUS_OK)
            break;
    }
    return code;
}

/* Repeats a wait that a limit of the server's own, or a slice, has ended too early. Each slice
   costs a session, which the server keeps until the lock is free, so the slices grow. */
int rowlock__name_lock_all(struct rowlock_work *work, const struct rowlock_wish *wish, size_t n,
                           int64_t limit_ms, enum rowlock_status *status, size_t *at)
{
    int64_t deadline_ms = rowlock__after(rowlock__now_ms(), limit_ms), slice_ms = SLICE_MS;
    int code = lock_slice(work, wish, n, limit_ms, deadline_ms, slice_ms, status, at);

    while (!code && *status == ROWLOCK_STATUS_TIMEDOUT && work->own &&
           !rowlock__work_is_whole(work) && rowlock__now_ms() < deadline_ms) {
        rowlock__work_undo(work);
        work->undone = false;
        slice_ms = rowlock__after(slice_ms, slice_ms);
        code = lock_slice(work, wish, n, limit_ms, deadline_ms, slice_ms, status, at);
    }
    return code;
}

/* ---- the leases ------------------------------------------------------------------------------ */

/* Checks the lease of the caller's own token, which permits the lock, and keeps it until the
   transaction ends. */
static int check_own_lease(struct rowlock_work *work, const struct rowlock_wish *wish,
                           const struct rowlock_rows *leases, int64_t limit_ms,
                           enum rowlock_status *status)
{
    const struct rowlock_lease_row *row = leases->row;
    struct rowlock_value values[] = {rowlock__text_value(wish->key),
                                     rowlock__int_value(wish->token)};
    bool fits = false, busy;
    int code;

    for (size_t i = 0; i < leases->n; i++)
        fits =
            fits || (row[i].held.token == wish->token &&
                     (row[i].held.kind == 'x' || (row[i].held.kind == 's' && wish->kind == 's')));
    *status = fits ? ROWLOCK_STATUS_OK : ROWLOCK_STATUS_LOST;
    if (!fits || rowlock__work_is_whole(work)) /* the lock of the whole file keeps the lease */
        return ROWLOCK_OK;
    *status = ROWLOCK_STATUS_LOST;
    code = rowlock__work_ask_within(work, ROWLOCK_PLAIN_LEASE_FENCE, values, limit_ms, &busy);
    if (!code && (busy || work->affected > 0))
        *status = busy ? ROWLOCK_STATUS_TIMEDOUT : ROWLOCK_STATUS_OK;
    return code;
}

/* Judges the leases of a name: OK, LEASED, EXPIRED, LOST. The caller's own lease does not
   conflict. */
static int look(struct rowlock_work *work, const struct rowlock_wish *wish, int64_t limit_ms,
                enum rowlock_status *status)
{
    struct rowlock_rows leases = {.size = sizeof(struct rowlock_lease_row)};
    struct rowlock_asked asked = {.kind = wish->kind};
    int code = rowlock__read_leases(work, wish->key, NULL, &leases);
    struct rowlock_lease_row *row = leases.row;
    size_t others = 0;

    *status = ROWLOCK_STATUS_OK;
    if (!code && wish->token)
        code = check_own_lease(work, wish, &leases, limit_ms, status);
    for (size_t i = 0; !code && i < leases.n; i++)
        if (row[i].held.token != wish->token)
            row[others++] = row[i];
    leases.n = others;
    if (!code && *status == ROWLOCK_STATUS_OK)
        *status = rowlock__judge_leases(&leases, &asked).status;
    rowlock__rows_clear(&leases);
    return code;
}

/* The tokens of a name's expired leases that conflict, each once. */
static int expired_of(struct rowlock_work *work, const struct rowlock_wish *wish,
                      struct rowlock_rows *tokens)
{
    struct rowlock_rows leases = {.size = sizeof(struct rowlock_lease_row)};
    int code = rowlock__read_leases(work, wish->key, NULL, &leases);
    const struct rowlock_lease_row *row = leases.row;
    int64_t last = 0;

    for (size_t i = 0; !code && i < leases.n; i++) {
        int64_t *token;

        if (row[i].held.alive || row[i].held.token == wish->token || row[i].held.token == last ||
            !rowlock__conflicts(wish->kind, row[i].held.kind))
            continue;
        last = row[i].held.token;
        if ((token = rowlock__rows_add(tokens)))
            *token = last;
    }
    rowlock__rows_clear(&leases);
    return rowlock__rows_complete(tokens, code, work->error);
}

int rowlock__end_expired(struct rowlock_work *work, int64_t token, int64_t limit_ms, bool *ended)
{
    struct rowlock_value value = rowlock__int_value(token);
    struct rowlock_beat beat = {0}; /* a renewal after this read prevents the sweep below */
    bool busy = false, swept;
    int code = rowlock__work_read_within(work, ROWLOCK_PLAIN_HEARTBEAT, &value, rowlock__take_beat,
                                         &beat, limit_ms, &busy);

    if (!code && !busy)
        code =
            rowlock__work_ask_within(work, ROWLOCK_PLAIN_HEARTBEAT_SWEEP, &value, limit_ms, &busy);
    swept = !code && !busy && work->affected > 0;
    if (swept && beat.expires_ms)
        code = rowlock__log_end(work, token, beat.expires_ms, beat.stopped);
    *ended = !code && swept;
    if (!code && !busy && !swept) {
        code = rowlock__work_do(work, ROWLOCK_PLAIN_HEARTBEAT, &value);
        *ended = !code && work->affected == 0; /* a lease without a heartbeat has expired */
    }
    if (!code && *ended) {
        code = rowlock__work_ask_within(work, ROWLOCK_PLAIN_LEASE_END, &value, limit_ms, &busy);
        *ended = !busy;
        if (!code && busy && work->own && !work->undone) { /* half a sweep must not be committed */
            rowlock__work_undo(work);
            work->undone = true;
        }
    }
    return code;
}

static int sweep_inside(struct rowlock_work *work, const struct rowlock_wish *wish,
                        int64_t limit_ms)
{
    struct rowlock_rows tokens = {.size = sizeof(int64_t)};
    int code = expired_of(work, wish, &tokens);
    bool ended = true;

    for (size_t i = 0; !code && ended && i < tokens.n; i++)
        code = rowlock__end_expired(work, ((int64_t *)tokens.row)[i], limit_ms, &ended);
    rowlock__rows_clear(&tokens);
    return code;
}

/* In a transaction of the user it waits for the leases, at most lease_ms. It does not wait while it
   has the lock of the whole file, which the holders of the leases need. In a transaction of its own
   it does not wait either: its caller tries again. */
static int look_patiently(struct rowlock_work *work, const struct rowlock_wish *wish,
                          int64_t lease_ms, bool sweeps, enum rowlock_status *status)
{
    int64_t deadline_ms = rowlock__after(rowlock__now_ms(), lease_ms);
    struct rowlock_pause pause = ROWLOCK_PAUSE_LEASE;
    int code;

    for (;;) {
        code = look(work, wish, left_of(lease_ms, deadline_ms), status);
        if (!code && *status == ROWLOCK_STATUS_EXPIRED && sweeps) {
            code = sweep_inside(work, wish, left_of(lease_ms, deadline_ms));
            if (!code)
                code = look(work, wish, left_of(lease_ms, deadline_ms), status);
        }
        if (code || *status != ROWLOCK_STATUS_LEASED || work->own || rowlock__work_is_whole(work) ||
            lease_ms == 0 || rowlock__now_ms() >= deadline_ms)
            return code;
        if (rowlock__pause(&pause, work->budget->interrupt_fd, deadline_ms) ==
            ROWLOCK_WAKE_INTERRUPT)
            return rowlock__fail(work->error, ROWLOCK_ECANCELED, "interrupted");
    }
}

/* ---- the functions --------------------------------------------------------------------------- */

static void answer(struct rowlock_work *work, enum rowlock_status status, const char *key,
                   bool stays)
{
    char name[256];

    rowlock__key_name(work, rowlock__text_value(key), name);
    rowlock__work_answer(
        work,
        (struct rowlock_value[]){rowlock__int_value(status),
                                 rowlock__text_value(status == ROWLOCK_STATUS_OK ? NULL : name),
                                 rowlock__int_value(stays), rowlock__text_value(NULL)},
        4);
}

/* wants, wait_ms, lease_ms, sweep */
int rowlock__emulate_lock(struct rowlock_work *work)
{
    struct rowlock_wish *wish = NULL;
    enum rowlock_status status = ROWLOCK_STATUS_OK;
    bool stays = false, sweeps = rowlock__work_int(work, 3) != 0 || rowlock__work_is_whole(work);
    size_t n = 0, at = 0;
    int64_t lease_ms = rowlock__work_int(work, 2);
    int code = rowlock__wishes(work, &work->call->values[0], &wish, &n);

    if (!code)
        code = rowlock__name_lock_all(work, wish, n, rowlock__work_int(work, 1), &status, &at);
    stays = at > 0 && !work->own && !rowlock__work_is_whole(work);
    if (!code && status == ROWLOCK_STATUS_OK)
        for (at = 0; !code && at < n; at++) {
            code = look_patiently(work, &wish[at], lease_ms, sweeps, &status);
            if (status != ROWLOCK_STATUS_OK)
                break;
        }
    if (work->undone && status == ROWLOCK_STATUS_OK) /* undone by a sweep, with the name locks */
        status = ROWLOCK_STATUS_BUSY;
    if (!code)
        answer(work, status, at < n ? wish[at].key : "", stays && status != ROWLOCK_STATUS_OK);
    free(wish);
    return code;
}

/* wants. Creates the rows of the names, each in a transaction of its own, because a duplicate key
   may abort it. Looks first, because an INSERT would wait for a session that holds an existing
   row. */
int rowlock__emulate_prepare(struct rowlock_work *work)
{
    struct rowlock_wish *wish = NULL;
    size_t n = 0;
    int code = rowlock__wishes(work, &work->call->values[0], &wish, &n);

    for (size_t i = 0; !code && i < n && !rowlock__work_is_whole(work); i++) {
        struct rowlock_value name = rowlock__text_value(wish[i].key);
        bool busy;

        code = rowlock__work_ask_within(work, ROWLOCK_PLAIN_NAME_KNOWN, &name, LOOK_MS, &busy);
        if (code || busy || work->affected)
            continue;
        code = rowlock__work_do(work, ROWLOCK_PLAIN_NAME_ADD, &name);
        if (rowlock__work_is_duplicate(work, code))
            code = ROWLOCK_OK;
        else if (!code)
            code = rowlock__work_commit(work);
    }
    free(wish);
    return code;
}

/* wants -> token of each expired lease that conflicts */
int rowlock__emulate_expired(struct rowlock_work *work)
{
    struct rowlock_rows tokens = {.size = sizeof(int64_t)};
    struct rowlock_wish *wish = NULL;
    size_t n = 0;
    int code = rowlock__wishes(work, &work->call->values[0], &wish, &n);

    for (size_t i = 0; !code && i < n; i++)
        code = expired_of(work, &wish[i], &tokens);
    for (size_t i = 0; !code && i < tokens.n; i++)
        rowlock__work_number(work, ((int64_t *)tokens.row)[i]);
    rowlock__rows_clear(&tokens);
    free(wish);
    return code;
}

/* token */
int rowlock__emulate_sweep(struct rowlock_work *work)
{
    bool ended;

    return rowlock__end_expired(work, rowlock__work_int(work, 0), -1, &ended);
}

/* name, token, limit_ms -> status row */
int rowlock__emulate_fence(struct rowlock_work *work)
{
    const char *key = rowlock__work_key(work, 0);
    struct rowlock_value values[] = {rowlock__text_value(key), rowlock__work_value(work, 1)};
    bool busy;
    int code = rowlock__work_ask_within(work, ROWLOCK_PLAIN_LEASE_FENCE, values,
                                        rowlock__work_int(work, 2), &busy);

    if (!code)
        answer(work,
               busy             ? ROWLOCK_STATUS_TIMEDOUT
               : work->affected ? ROWLOCK_STATUS_OK
                                : ROWLOCK_STATUS_LOST,
               key, false);
    return code;
}
