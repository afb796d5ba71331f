/* SPDX-License-Identifier: Apache-2.0 */
/* The judge's rules about runs of jobs, reads of refreshed data, and free names (judge.h). */
#include <inttypes.h>
#include <stdlib.h>

#include "torture/judge.h"

/* ---- runs of jobs ---------------------------------------------------------------------------- */

static int by_run(const void *a, const void *b)
{
    const struct operation *left = *(const struct operation *const *)a;
    const struct operation *right = *(const struct operation *const *)b;
    int order = judge_by_value(a, b);

    if (order)
        return order;
    return judge_compare(left->number[1], right->number[1]);
}

static const struct operation *end_of(const struct history *history, const struct operation *begun)
{
    const struct operation *end = history_find(history, begun, KIND_END);

    return end && end->phase == PHASE_OK ? end : NULL;
}

static void judge_begun(const struct history *history, const struct operation *one,
                        const struct operation *other, struct verdict *verdict)
{
    if (by_run(&one, &other) == 0 && !judge_undone_between(history, one->done, other->done))
        judge_blame(verdict, "begun twice: %" PRId64 " of %ld by %ld:%ld and %ld:%ld",
                    one->number[0], one->key, one->client, one->op, other->client, other->op);
}

/* Runs that are done. */
static void judge_done(const struct history *history, const struct operation *one,
                       const struct operation *other, struct verdict *verdict)
{
    if (judge_by_value(&one, &other) == 0 &&
        !judge_undone_between(history, end_of(history, one)->done, end_of(history, other)->done))
        judge_blame(verdict, "done twice: %" PRId64 " of %ld by %ld:%ld and %ld:%ld",
                    one->number[0], one->key, one->client, one->op, other->client, other->op);
}

void judge_runs(const struct history *history, struct verdict *verdict)
{
    size_t n;
    const struct operation **run = judge_select(history, KIND_BEGIN, 1, by_run, &n), *done = NULL;

    for (size_t i = 0; i < n; i++) {
        if (i)
            judge_begun(history, run[i - 1], run[i], verdict);
        if (!end_of(history, run[i]))
            continue;
        if (done)
            judge_done(history, done, run[i], verdict);
        done = run[i];
    }
    free(run);
}

/* ---- reads of refreshed data, which have one key --------------------------------------------- */

/* The last value that was acknowledged, and the last one that the database has forgotten since. */
struct last {
    int64_t value, forgotten, until;
};

static void remember(const struct history *history, const struct operation *add, struct last *last)
{
    int64_t *value = judge_is_forgotten(history, add) ? &last->forgotten : &last->value;

    if (value == &last->forgotten && last->until != judge_undone(history, add->done)) {
        last->until = judge_undone(history, add->done);
        last->forgotten = 0;
    }
    if (add->number[0] > *value)
        *value = add->number[0];
}

static void judge_read(const struct operation *read, const struct last *last,
                       struct verdict *verdict)
{
    int64_t least = last->value;

    if (read->done <= last->until && last->forgotten > least)
        least = last->forgotten;
    if (read->number[0] != read->number[1])
        judge_blame(verdict, "read during a refresh: %ld:%ld got %" PRId64 " and %" PRId64,
                    read->client, read->op, read->number[0], read->number[1]);
    if (read->number[0] < least)
        judge_blame(verdict, "stale read: %ld:%ld got %" PRId64 " after %" PRId64, read->client,
                    read->op, read->number[0], least);
}

void judge_reads(const struct history *history, struct verdict *verdict)
{
    size_t n, n_added, next = 0;
    const struct operation **read = judge_select(history, KIND_READ, 1, judge_by_invocation, &n);
    const struct operation **added =
        judge_select(history, KIND_ADD, 1, judge_by_completion, &n_added);
    struct last last = {0};

    for (size_t i = 0; i < n; i++) {
        for (; next < n_added && added[next]->done < read[i]->invoked; next++)
            remember(history, added[next], &last);
        judge_read(read[i], &last, verdict);
    }
    free(read);
    free(added);
}

/* ---- free names ------------------------------------------------------------------------------ */

void judge_free(const struct history *history, struct verdict *verdict)
{
    for (size_t i = 0; i < history->n; i++)
        if (history->operation[i].kind == KIND_FREE && history->operation[i].phase != PHASE_OK)
            judge_blame(verdict, "still locked: name %ld, after the faults have ended",
                        history->operation[i].key);
}
