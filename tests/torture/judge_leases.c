/* SPDX-License-Identifier: Apache-2.0 */
/* The judge's rules about leases: exclusion by intervals, tokens, fences, writes outside. */
#include <inttypes.h>
#include <stdlib.h>

#include "rowlock.h"
#include "torture/judge.h"

const struct operation *judge_renewal(const struct history *history, const struct operation *hold,
                                      int only_ok)
{
    const struct operation *last = NULL, *one;
    struct operation like = *hold;

    do {
        one = history_find(history, &like, KIND_RENEW);
        if (one && (!only_ok || one->phase == PHASE_OK))
            last = one;
        like.op++;
    } while (history_find(history, &like, KIND_ADD) && !history_find(history, &like, KIND_HOLD));
    return last;
}

/* A renewal that succeeded proves that the lease was never another's. */
int64_t judge_end_of(const struct history *history, const struct operation *hold)
{
    const struct operation *renew = judge_renewal(history, hold, 1);
    const struct operation *leave = history_find(history, hold, KIND_LEAVE);
    int64_t until = hold->number[HOLD_UNTIL];

    if (renew && renew->number[0] > until)
        until = renew->number[0];
    return leave && leave->invoked < until ? leave->invoked : until;
}

int64_t judge_forward(const struct history *history, int64_t from, int64_t upto)
{
    int64_t sum = 0;

    /* the runner is client 0, and the operations are sorted */
    for (size_t i = 0; i < history->n && history->operation[i].client == 0; i++) {
        const struct operation *step = &history->operation[i];

        if (step->kind == KIND_STEP && step->done >= from && step->invoked <= upto &&
            step->number[0] > 0)
            sum += step->number[0] * 1000000;
    }
    return sum;
}

int judge_excludes(const struct operation *a, const struct operation *b)
{
    return a->number[HOLD_MODE] == ROWLOCK_EXCLUSIVE ||
           a->number[HOLD_MODE] != b->number[HOLD_MODE];
}

/* ---- exclusion ------------------------------------------------------------------------------- */

struct inside {
    const struct operation *hold;
    int64_t end;
};

static size_t remove_ended(const struct history *history, struct inside *inside, size_t n,
                           const struct operation *hold, struct verdict *verdict)
{
    size_t left = 0;

    for (size_t i = 0; i < n; i++) {
        const struct operation *other = inside[i].hold;

        if (other->key != hold->key || inside[i].end <= hold->done)
            continue;
        if (inside[i].end - hold->done > judge_forward(history, other->invoked, hold->done) &&
            hold->done <= judge_undone_end(history, other))
            inside[left++] = inside[i];
        else
            verdict->early += judge_excludes(hold, other);
    }
    return left;
}

static void judge_entry(const struct inside *inside, size_t n, const struct operation *hold,
                        struct verdict *verdict)
{
    int64_t permits = hold->number[HOLD_COUNT];

    for (size_t i = 0; i < n; i++) {
        const struct operation *other = inside[i].hold;

        permits += other->number[HOLD_MODE] == ROWLOCK_PERMIT ? other->number[HOLD_COUNT] : 0;
        if (judge_excludes(hold, other))
            judge_blame(verdict,
                        "overlap: %ld:%ld acquired %ld (token %" PRId64
                        ") while %ld:%ld had it (token %" PRId64 ")",
                        hold->client, hold->op, hold->key, hold->number[HOLD_TOKEN], other->client,
                        other->op, other->number[HOLD_TOKEN]);
    }
    if (hold->number[HOLD_MODE] == ROWLOCK_PERMIT && permits > hold->number[HOLD_LIMIT])
        judge_blame(verdict, "permits: %" PRId64 " of %ld are held, the limit is %" PRId64, permits,
                    hold->key, hold->number[HOLD_LIMIT]);
}

void judge_exclusion(const struct history *history, struct verdict *verdict)
{
    size_t n, n_inside = 0;
    const struct operation **hold = judge_select(history, KIND_HOLD, 1, judge_by_completion, &n);
    struct inside *inside = calloc(n + 1, sizeof *inside);

    for (size_t i = 0; inside && i < n; i++) {
        int64_t end = judge_end_of(history, hold[i]);

        if (end <= hold[i]->done)
            continue; /* it had expired before its holder knew of it */
        n_inside = remove_ended(history, inside, n_inside, hold[i], verdict);
        judge_entry(inside, n_inside, hold[i], verdict);
        inside[n_inside++] = (struct inside){hold[i], end};
    }
    free(inside);
    free(hold);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

void judge_tokens(const struct history *history, struct verdict *verdict)
{
    size_t n;
    const struct operation **hold = judge_select(history, KIND_HOLD, 1, judge_by_completion, &n);
    int64_t most[3] = {0}; /* by mode */

    for (size_t i = 0; i < n; i++) {
        int64_t token = hold[i]->number[HOLD_TOKEN], mode = hold[i]->number[HOLD_MODE];

        if (i == 0 || hold[i - 1]->key != hold[i]->key)
            most[0] = most[1] = most[2] = 0;
        if (hold[i]->number[HOLD_UNTIL] <= hold[i]->done || mode < 0 || mode > 2 || !token)
            continue; /* a transaction lock has no token */
        if (judge_forward(history, hold[i]->invoked, hold[i]->done) > 0)
            continue; /* it may have ended before its holder knew of it */
        for (int other = 0; other < 3; other++)
            if ((mode == ROWLOCK_EXCLUSIVE || other != mode) && token <= most[other])
                judge_blame(verdict, "token: %ld:%ld acquired %ld with %" PRId64 " after %" PRId64,
                            hold[i]->client, hold[i]->op, hold[i]->key, token, most[other]);
        if (token > most[mode])
            most[mode] = token;
    }
    free(hold);
}

/* ---- fences, and writes outside the database ------------------------------------------------- */

void judge_fences(const struct history *history, struct verdict *verdict)
{
    size_t n;
    const struct operation **fence = judge_select(history, KIND_FENCE, 1, judge_by_completion, &n);
    const struct operation *last = NULL;
    int64_t end = 0;

    for (size_t i = 0; i < n; i++) {
        const struct operation *commit = history_find(history, fence[i], KIND_COMMIT);

        if (!commit || commit->phase != PHASE_OK)
            continue;
        if (last && last->key == fence[i]->key && fence[i]->done < end)
            judge_blame(verdict, "fenced transactions of %ld overlap: %ld:%ld and %ld:%ld",
                        fence[i]->key, last->client, last->op, fence[i]->client, fence[i]->op);
        if (!last || last->key != fence[i]->key || commit->invoked > end) {
            last = fence[i];
            end = commit->invoked;
        }
    }
    free(fence);
}

/* Whether the write lasted longer than its lease: its client was stopped or slow, the server's
   clock was set forward, or the database forgot the lease. */
static int is_late(const struct history *history, const struct operation *act)
{
    const struct operation *hold = history_find(history, act, KIND_HOLD);

    return hold && (act->done > judge_end_of(history, hold) -
                                    judge_forward(history, hold->invoked, act->done) ||
                    act->done > judge_undone_end(history, hold));
}

/* Two writes that read the same value: one of them is lost. */
static void judge_values_outside(const struct operation *const *act, size_t n, int explained,
                                 struct verdict *verdict)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n && act[j]->key == act[i]->key && j < i + 50; j++) {
            if (act[i]->number[0] != act[j]->number[0])
                continue;
            verdict->lost++;
            if (!explained)
                judge_blame(verdict, "lost update outside: %ld:%ld and %ld:%ld wrote %" PRId64,
                            act[i]->client, act[i]->op, act[j]->client, act[j]->op,
                            act[i]->number[0]);
        }
}

/* How long the guard may take to end a command whose lease a step of the clock has ended, or a loss
   of commits. */
#define GUARDED_NS INT64_C(1500000000)

static int has_lost_lease(const struct history *history, int64_t begun)
{
    int64_t before = begun - GUARDED_NS;

    if (judge_forward(history, before, begun) > 0)
        return 1;
    for (size_t i = 0; i < history->n && history->operation[i].client == 0; i++)
        if (history->operation[i].kind == KIND_UNDONE && history->operation[i].done >= before &&
            history->operation[i].done <= begun)
            return 1;
    return 0;
}

/* The commands of `rowlock run` lock a file, which tells whether another one is still running. */
static void judge_commands(const struct history *history, struct verdict *verdict)
{
    for (size_t i = 0; i < history->n; i++) {
        const struct operation *act = &history->operation[i];

        if (act->kind != KIND_ACT || act->phase != PHASE_FAIL)
            continue;
        if (has_lost_lease(history, act->invoked))
            verdict->early++;
        else
            judge_blame(verdict, "overlap: the command of %ld:%ld began while another one had %ld",
                        act->client, act->op, act->key);
    }
}

void judge_acts(const struct history *history, struct verdict *verdict)
{
    size_t n;
    const struct operation **act = judge_select(history, KIND_ACT, 1, judge_by_invocation, &n);
    int explained = 0;

    for (size_t i = 0; i < n; i++)
        explained |= is_late(history, act[i]);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1;
             j < n && act[j]->key == act[i]->key && act[j]->invoked < act[i]->done; j++) {
            verdict->overlaps++;
            if (!is_late(history, act[i]) && !is_late(history, act[j]))
                judge_blame(verdict, "overlap outside, unexplained: %ld:%ld and %ld:%ld on %ld",
                            act[i]->client, act[i]->op, act[j]->client, act[j]->op, act[i]->key);
        }
    judge_values_outside(act, n, explained, verdict);
    judge_commands(history, verdict);
    free(act);
}
