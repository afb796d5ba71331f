/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acquires the lock for a command. An ancestor process holds its locks until we have ended, so
 * waiting for one would never end. Under an ancestor's lock the first attempt is therefore a try;
 * on a conflict the holders are listed to see whether one of them is the ancestor, and again while
 * it waits.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "run/supervise/ancestors.h"
#include "run/supervise/holding.h"
#include "run/supervise/times.h"
#include "run/supervise/waiting.h"
#include "util/clock.h"

#define TRY_MS 12000 /* maximum duration of a try on a slow or dead server */
/* interval at which the holders are listed where a waiting call cannot do it */
#define SLICE_MS 10000

int connect_to_run(const struct command *command, const struct run *run,
                   const struct signals *signals, struct rowlock_connection **out)
{
    struct approach approach = {.deadline_ms = run->lock.deadline_ms,
                                .is_patient = run->lock.wait_ms < 0,
                                .statement_ms = statement_limit(run),
                                .interrupt_fd = signals->wait_fd,
                                .signals = signals,
                                .verbose = run->verbose,
                                .needs_server = run->transaction,
                                .may_create = 1};

    return connect_as(command, &approach, out);
}

static void say_away(const struct rowlock_error *why, void *data)
{
    struct holding *holding = data;

    waiting_hide(holding->waiting);
    if (!holding->said_away)
        message("the database is unreachable, waiting for it: %s", why->text);
    holding->said_away = 1;
}

/* ---- ancestors ------------------------------------------------------------------------------- */

struct look {
    const struct rowlock_want *want;
    int by_ancestor;         /* leases of this name */
    int conflicts;           /* one of them excludes us */
    int permits;             /* of an ancestor's */
    int conflicting_waiters; /* they wait for our ancestor, and we behind them */
    const char *owner;       /* of our ticket */
    int is_behind;           /* those that follow wait behind us */
};

static int look_at(const struct rowlock_holder *holder, void *data)
{
    struct look *look = data;
    int excludes = look->want->mode == ROWLOCK_EXCLUSIVE || look->want->mode != holder->mode;

    if (holder->holding == ROWLOCK_WAITS) {
        look->is_behind |= strcmp(holder->owner, look->owner) == 0;
        look->conflicting_waiters += excludes && !look->is_behind;
    } else if (holder->holding == ROWLOCK_HOLDS &&
               (is_token_of_ancestor(holder->token) || is_kept_for_ancestor(holder->token))) {
        look->by_ancestor++;
        look->conflicts += excludes;
        look->permits += holder->count ? holder->count : 1;
    }
    return 0;
}

/* The index of a name whose wait would never end, or -1. `*held`: an ancestor holds one in a
   compatible mode. */
static int find_hopeless(const struct run *run, struct holding *holding, int *held)
{
    int index = held_by_ancestor(run->lock.wants, run->lock.n);

    *held = 0;
    for (size_t i = 0; index < 0 && i < run->lock.n; i++) {
        const struct rowlock_want *want = &run->lock.wants[i];
        struct look look = {.want = want, .owner = holding->owner};

        if (rowlock_list(holding->connection, want->name, look_at, &look, NULL))
            continue; /* the holders are unknown: wait for them */
        *held |= look.by_ancestor > 0;
        if (look.by_ancestor && (look.conflicts || look.conflicting_waiters ||
                                 (want->mode == ROWLOCK_PERMIT && look.permits >= want->limit)))
            index = (int)i;
    }
    return index;
}

static int look_again(void *data)
{
    struct holding *holding = data;
    int held;

    holding->hopeless = find_hopeless(holding->nested, holding, &held);
    return holding->hopeless >= 0;
}

/* ---- the outcome ----------------------------------------------------------------------------- */

int not_started_if_interrupted(const struct signals *signals, struct holding *holding, int status)
{
    int number = signals_next(signals->wait_fd, NULL);

    if (!number)
        return status;
    finish_not_started(holding, 128 + number, INTERRUPTED);
    rowlock_lease_free(holding->lease);
    holding->lease = NULL; /* a transaction ends with its connection */
    return -number;
}

static int refused(const struct run *run, const struct rowlock_error *error, int hopeless)
{
    int status;

    if (error->code == ROWLOCK_ECANCELED && hopeless < 0)
        return STATUS_FAILED; /* usually by a signal, which the status reports */
    if (hopeless >= 0) {
        message("'%s' is held by your own ancestor process (%s): waiting would never end",
                run->lock.wants[hopeless].name,
                has_holding_ancestor() ? "ROWLOCK_HELD" : "acquire --while-pid");
        return run->lock.conflict;
    }
    if (run->lock.quiet && (error->code == ROWLOCK_EBUSY || error->code == ROWLOCK_ETIMEDOUT))
        return run->lock.conflict;
    status = report(error);
    return status == STATUS_NOT_ACQUIRED ? run->lock.conflict : status;
}

static int conclude(const struct run *run, const struct signals *signals, struct holding *holding,
                    int code, const struct rowlock_error *error)
{
    int status = STATUS_OK;

    if (code)
        status = refused(run, error, holding->hopeless);
    else if (run->verbose && (holding->lease || run->transaction))
        message("'%s'%s acquired after %" PRId64 " ms", run->lock.wants[0].name,
                run->lock.n > 1 ? " and others" : "", holding->waited_ms);
    status = not_started_if_interrupted(signals, holding, status);
    if (code == ROWLOCK_ECANCELED && status == STATUS_FAILED && holding->hopeless < 0)
        report(error); /* no signal, but a server that cancelled the statement */
    return status;
}

/* Without an ancestor's lock: one call. Beneath one: a try, then a wait; a wait for a transaction
   lock has slices, between which the holders are listed. */
int acquire(const struct run *run, const struct signals *signals, struct holding *holding,
            int *acquired)
{
    const struct lock_options *lock = &run->lock;
    int is_beneath = has_holding_ancestor() || is_kept_for_ancestor(0), held = 1, status, code;
    int may_come;
    struct rowlock_terms terms = {.ttl_ms = lock->ttl_ms,
                                  .wait_ms = is_beneath ? 0 : lock_wait_left(lock),
                                  .note = lock->note,
                                  .command = run->argv[0],
                                  .no_process = run->no_process,
                                  .on_disconnect = say_away,
                                  .data = holding};
    int64_t began = rowlock__now_ms();
    struct rowlock_error error = {0};

    holding->waiting = waiting_begin(lock, run->verbose);
    holding->hopeless = -1;
    for (;;) {
        if (rowlock__owner_make(getenv("ROWLOCK_OWNER"), holding->owner) == 0)
            terms.owner = holding->owner;
        waiting_as(holding->waiting, holding->owner);
        /* near the end of a wait: a try would wait longer for a dead server */
        if (lock->deadline_ms && terms.wait_ms == 0 && lock_wait_left(lock) < TRY_MS)
            terms.wait_ms = 1;
        if (holding->take)
            code = holding->take(holding, &terms, &error);
        else if (run->transaction)
            code = rowlock_begin(holding->connection, lock->wants, lock->n, terms.wait_ms, &error);
        else
            code = rowlock_acquire(holding->connection, lock->wants, lock->n, &terms,
                                   &holding->lease, &error);
        /* not acquired yet: held, or the database is full or unreachable; only a wait for a lease
           tolerates the last */
        may_come = code == ROWLOCK_EBUSY || code == ROWLOCK_ETIMEDOUT ||
                   (code == ROWLOCK_ECONN && (!run->transaction || rowlock_is_full(&error)));
        if (!is_beneath || !may_come)
            break;
        if (code != ROWLOCK_ECONN)
            holding->hopeless = find_hopeless(run, holding, &held);
        terms.wait_ms = lock_wait_left(lock);
        if (holding->hopeless >= 0 || terms.wait_ms == 0)
            break;
        holding->nested = held ? run : NULL;
        terms.on_wait = held ? look_again : NULL;
        is_beneath = held && run->transaction;
        if (is_beneath)
            terms.wait_ms = terms.wait_ms < 0 ? SLICE_MS : rowlock__least(terms.wait_ms, SLICE_MS);
    }
    waiting_end(holding->waiting);
    holding->waiting = NULL;
    holding->waited_ms = rowlock__now_ms() - began;
    status = conclude(run, signals, holding, code, &error);
    *acquired = !code && !status;
    return status;
}
