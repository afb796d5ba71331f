/* SPDX-License-Identifier: Apache-2.0 */
#include "emulate/judge.h"

#include <string.h>

#include "rowlock.h"
#include "util/clock.h"

#define LONG_WAIT_MS 1000
#define LONG_HOLD_MS 10000
#define FOREVER_MS 3155760000000 /* a hundred years */

bool rowlock__conflicts(char asked, char held)
{
    return !(asked == 's' && held == 's');
}

/* The conflicts with all leases, or only with live ones. */
struct conflicts {
    int64_t rows, permits, other_limit;
    int64_t token, expires_ms;
};

static void count_lease(struct conflicts *c, const struct rowlock_held *held,
                        const struct rowlock_asked *asked)
{
    bool alike = asked->kind == 'p' && held->kind == 'p';

    if (!rowlock__conflicts(asked->kind, held->kind))
        return;
    c->rows++;
    c->permits += alike;
    if (alike && held->limit != asked->limit)
        c->other_limit = held->limit;
    if (!c->token || held->expires_ms < c->expires_ms) {
        c->token = held->token;
        c->expires_ms = held->expires_ms;
    }
}

static bool are_in_the_way(const struct conflicts *c, const struct rowlock_asked *asked)
{
    return c->rows > c->permits || (asked->kind == 'p' && c->permits + asked->count > asked->limit);
}

struct rowlock_judged rowlock__judge_leases(const struct rowlock_rows *leases,
                                            const struct rowlock_asked *asked)
{
    struct conflicts live = {0}, all = {0};

    for (size_t i = 0; i < leases->n; i++) {
        const struct rowlock_held *held = rowlock__rows_at(leases, i);

        count_lease(&all, held, asked);
        if (held->alive)
            count_lease(&live, held, asked);
    }
    if (live.other_limit)
        return (struct rowlock_judged){.status = ROWLOCK_STATUS_LIMIT, .limit = live.other_limit};
    if (are_in_the_way(&live, asked))
        return (struct rowlock_judged){
            .status = ROWLOCK_STATUS_LEASED, .number = live.token, .expires_ms = live.expires_ms};
    if (are_in_the_way(&all, asked) || all.other_limit)
        return (struct rowlock_judged){.status = ROWLOCK_STATUS_EXPIRED, .number = all.token};
    return (struct rowlock_judged){.status = ROWLOCK_STATUS_OK};
}

struct rowlock_judged rowlock__judge_queue(const struct rowlock_rows *waiters,
                                           const struct rowlock_asked *asked)
{
    struct rowlock_judged judged = {.status = ROWLOCK_STATUS_OK};
    bool found = asked->ticket == 0;

    for (size_t i = 0; i < waiters->n; i++) {
        const struct rowlock_queued *queued = rowlock__rows_at(waiters, i);

        found = found || queued->ticket == asked->ticket;
        if (!queued->alive || queued->own || (asked->ticket && queued->ticket >= asked->ticket))
            continue;
        judged.status = ROWLOCK_STATUS_QUEUED;
        judged.before++;
        judged.number = rowlock__most(judged.number, queued->ticket);
    }
    if (!found)
        judged = (struct rowlock_judged){.status = ROWLOCK_STATUS_UNQUEUED};
    return judged;
}

int64_t rowlock__other_limit(const struct rowlock_rows *leases, const struct rowlock_rows *waiters,
                             const struct rowlock_asked *asked, bool *is_held)
{
    *is_held = true;
    for (size_t i = 0; asked->kind == 'p' && i < leases->n; i++) {
        const struct rowlock_held *held = rowlock__rows_at(leases, i);

        if (held->kind == 'p' && held->alive && held->limit != asked->limit)
            return held->limit;
    }
    *is_held = false;
    for (size_t i = 0; asked->kind == 'p' && i < waiters->n; i++) {
        const struct rowlock_queued *queued = rowlock__rows_at(waiters, i);

        if (queued->kind == 'p' && queued->alive && !queued->own && queued->limit != asked->limit &&
            (!asked->ticket || queued->ticket < asked->ticket))
            return queued->limit;
    }
    return 0;
}

/* ---- jobs and subjects ----------------------------------------------------------------------- */

void rowlock__judge_run_end(struct rowlock_run_end *end)
{
    bool lost = end->outcome == ROWLOCK_RUN_LOST;
    bool not_started = end->outcome == ROWLOCK_RUN_NOTSTARTED, is_current = end->is_current;
    bool open = end->was == ROWLOCK_RUN_RUNNING || end->was == ROWLOCK_RUN_LOST ||
                end->was == ROWLOCK_RUN_BROKEN;
    enum rowlock_run_outcome outcome = end->outcome;

    end->ends_job = end->has_lease && is_current;
    end->stays = end->ends_job && (lost || not_started) && !end->stopped;
    end->failed_ms = end->outcome == ROWLOCK_RUN_DONE || lost || end->stopped ? 0 : end->now_ms;
    if (end->ends_job)
        is_current = end->stays;
    end->touches = not_started && is_current;
    end->becomes = ROWLOCK_RUN_RUNNING;
    if (end->has_lease ? end->stopped : end->was == ROWLOCK_RUN_BROKEN)
        outcome = ROWLOCK_RUN_BROKEN;
    else if (!end->has_lease && !not_started)
        outcome = ROWLOCK_RUN_LATE;
    if (open && !(end->was == ROWLOCK_RUN_LOST && is_current))
        end->becomes = outcome;
    end->keeps_lease = end->has_lease && !end->stopped && !lost && !not_started &&
                       end->now_ms < end->taken_until_ms;
    outcome = end->becomes ? end->becomes : end->was;
    end->status = ROWLOCK_STATUS_OK;
    if (outcome == ROWLOCK_RUN_BROKEN)
        end->status = ROWLOCK_STATUS_STOPPED;
    else if (outcome == ROWLOCK_RUN_LATE || (outcome == ROWLOCK_RUN_LOST && !is_current))
        end->status = ROWLOCK_STATUS_LOST;
}

/* ---- the history ----------------------------------------------------------------------------- */

int64_t rowlock__judge_quiet(int64_t level, int64_t waited_ms)
{
    if (level == ROWLOCK_HISTORY_ALL || waited_ms >= LONG_WAIT_MS)
        return -1;
    return level == ROWLOCK_HISTORY_SLOW ? LONG_HOLD_MS : FOREVER_MS;
}

const char *rowlock__judge_end(bool stopped, bool expired)
{
    return rowlock_ending_text(stopped   ? ROWLOCK_ENDED_REVOKED
                               : expired ? ROWLOCK_ENDED_EXPIRED
                                         : ROWLOCK_ENDED_RELEASED);
}

bool rowlock__is_problem(const char *how)
{
    return strcmp(how, rowlock_ending_text(ROWLOCK_ENDED_RELEASED)) != 0;
}

bool rowlock__judge_history(int64_t level, const char *how, int64_t waited_ms, int64_t held_ms)
{
    if (level == ROWLOCK_HISTORY_OFF || level == ROWLOCK_HISTORY_ALL)
        return level == ROWLOCK_HISTORY_ALL;
    return rowlock__is_problem(how) || (level == ROWLOCK_HISTORY_SLOW &&
                                        (waited_ms >= LONG_WAIT_MS || held_ms >= LONG_HOLD_MS));
}

bool rowlock__judge_gave_up(int64_t level, int64_t waited_ms)
{
    return level == ROWLOCK_HISTORY_ALL ||
           (level != ROWLOCK_HISTORY_OFF && waited_ms >= LONG_WAIT_MS);
}

bool rowlock__judge_stale(bool complete, int64_t basis_ms, int64_t expired_ms, int64_t updated_ms,
                          int64_t now_ms, int64_t max_age_ms)
{
    int64_t age = rowlock__most(0, rowlock__between(updated_ms, now_ms));

    if (!complete || updated_ms < 0 || basis_ms <= expired_ms)
        return true;
    return max_age_ms >= 0 &&
           !(age < max_age_ms && rowlock__between(now_ms, updated_ms) <= max_age_ms);
}

static const char *next_character(const char *text)
{
    do
        text++;
    while (((unsigned char)*text & 0xc0) == 0x80);
    return text;
}

/* After a mismatch, the last '%' matches one character more. The earlier ones never need to
   change. */
bool rowlock__is_like(const char *name, const char *pattern)
{
    const char *after = NULL, *from = name; /* the last '%', and where its text may end */

    while (*name) {
        const char *plain = pattern + (*pattern == '!');

        if (*pattern == '%') {
            after = ++pattern;
            from = name;
        } else if (*pattern == '_') {
            pattern++;
            name = next_character(name);
        } else if (*plain == *name) {
            pattern = plain + 1;
            name++;
        } else if (after) {
            pattern = after;
            name = from = next_character(from);
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "%")] == '\0';
}
