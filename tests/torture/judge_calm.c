/* SPDX-License-Identifier: Apache-2.0 */
/* The judge's rules for histories in which no session is disturbed (judge.h). */
#include <inttypes.h>
#include <stdlib.h>

#include "torture/judge.h"

static int is_calm(const struct history *history)
{
    /* the runner is client 0, and the operations are sorted */
    for (size_t i = 0; i < history->n && history->operation[i].client == 0; i++)
        if (history->operation[i].kind == KIND_CALM)
            return 1;
    return 0;
}

/* ---- the order of the queue ------------------------------------------------------------------ */

static void judge_later(const struct operation *queued, const struct operation *first,
                        const struct operation *const *hold, size_t n, struct verdict *verdict)
{
    int64_t token = first->number[HOLD_TOKEN];

    for (size_t i = 0; i < n; i++)
        if (hold[i]->key == first->key && hold[i]->invoked > queued->done &&
            hold[i]->number[HOLD_TOKEN] > 0 && hold[i]->number[HOLD_TOKEN] < token &&
            judge_excludes(hold[i], first))
            judge_blame(verdict,
                        "order of the queue: %ld:%ld acquired %ld (token %" PRId64
                        ") before %ld:%ld (token %" PRId64 "), which was in the queue already",
                        hold[i]->client, hold[i]->op, first->key, hold[i]->number[HOLD_TOKEN],
                        first->client, first->op, token);
}

void judge_order_of_queue(const struct history *history, struct verdict *verdict)
{
    size_t n, n_queued, n_stops;
    const struct operation **hold = judge_select(history, KIND_HOLD, 1, judge_by_completion, &n);
    const struct operation **queued =
        judge_select(history, KIND_QUEUED, 1, judge_by_completion, &n_queued);
    const struct operation **stop =
        judge_select(history, KIND_STOPPED, 0, judge_by_value, &n_stops);

    for (size_t i = 0; i < n_queued && is_calm(history); i++) {
        struct operation of = {
            .client = queued[i]->number[0], .op = queued[i]->number[1], .key = queued[i]->key};
        const struct operation *first = history_find(history, &of, KIND_HOLD);

        if (first && first->phase == PHASE_OK && !judge_was_stopped(stop, n_stops, first))
            judge_later(queued[i], first, hold, n, verdict);
    }
    free(hold);
    free(queued);
    free(stop);
}

/* ---- busy names ------------------------------------------------------------------------------ */

/* Until when the operation may have used its name. */
static int64_t used_until(const struct history *history, const struct operation *hold)
{
    const struct operation *leave = history_find(history, hold, KIND_LEAVE);

    if (hold->phase == PHASE_FAIL)
        return hold->done;
    return hold->phase == PHASE_OK && leave && leave->phase == PHASE_OK ? leave->done : INT64_MAX;
}

static int is_explained(const struct history *history, const struct operation *busy,
                        const struct operation *const *hold, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hold[i] != busy && hold[i]->key == busy->key && hold[i]->invoked <= busy->done &&
            used_until(history, hold[i]) >= busy->invoked)
            return 1;
    return 0;
}

void judge_busy(const struct history *history, struct verdict *verdict)
{
    size_t n;
    const struct operation **hold = judge_select(history, KIND_HOLD, 0, judge_by_completion, &n);

    for (size_t i = 0; i < n && is_calm(history); i++)
        if (hold[i]->phase == PHASE_FAIL && hold[i]->number[0] == 1 &&
            !is_explained(history, hold[i], hold, n))
            judge_blame(verdict, "busy: %ld:%ld found %ld busy, which no client used",
                        hold[i]->client, hold[i]->op, hold[i]->key);
    free(hold);
}

/* ---- transactions after a busy lock ---------------------------------------------------------- */

void judge_kept(const struct history *history, struct verdict *verdict)
{
    for (size_t i = 0; i < history->n && is_calm(history); i++) {
        const struct operation *kept = &history->operation[i];

        if (kept->kind == KIND_KEPT && kept->phase == PHASE_FAIL)
            judge_blame(verdict, "not kept: the transaction of %ld:%ld, after a lock was busy",
                        kept->client, kept->op);
    }
}
