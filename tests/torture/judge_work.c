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
    return left->number[1] < right->number[1] ? -1 : left->number[1] > right->number[1];
}

static int is_finished(const struct history *history, const struct operation *begun)
{
    const struct operation *end =
        history_find(history, begun->client, begun->op, KIND_END, begun->key);

    return end && end->phase == PHASE_OK;
}

void judge_runs(const struct history *history, struct verdict *verdict)
{
    size_t n;
    const struct operation **run = judge_select(history, KIND_BEGIN, 1, by_run, &n), *done = NULL;

    for (size_t i = 0; i < n; i++) {
        if (i && by_run(&run[i - 1], &run[i]) == 0)
            judge_blame(verdict, "begun twice: %" PRId64 " of %ld by %ld:%ld and %ld:%ld",
                        run[i]->number[0], run[i]->key, run[i - 1]->client, run[i - 1]->op,
                        run[i]->client, run[i]->op);
        if (!is_finished(history, run[i]))
            continue;
        if (done && judge_by_value(&done, &run[i]) == 0)
            judge_blame(verdict, "done twice: %" PRId64 " of %ld by %ld:%ld and %ld:%ld",
                        run[i]->number[0], run[i]->key, done->client, done->op, run[i]->client,
                        run[i]->op);
        done = run[i];
    }
    free(run);
}

/* ---- reads of refreshed data ----------------------------------------------------------------- */

static int by_completion(const void *a, const void *b)
{
    const struct operation *left = *(const struct operation *const *)a;
    const struct operation *right = *(const struct operation *const *)b;

    return left->done < right->done ? -1 : left->done > right->done;
}

static int by_invocation(const void *a, const void *b)
{
    const struct operation *left = *(const struct operation *const *)a;
    const struct operation *right = *(const struct operation *const *)b;

    return left->invoked < right->invoked ? -1 : left->invoked > right->invoked;
}

void judge_reads(const struct history *history, struct verdict *verdict)
{
    size_t n, n_added, next = 0;
    const struct operation **read = judge_select(history, KIND_READ, 1, by_invocation, &n);
    const struct operation **added = judge_select(history, KIND_ADD, 1, by_completion, &n_added);
    int64_t last = 0;

    for (size_t i = 0; i < n; i++) {
        for (; next < n_added && added[next]->done < read[i]->invoked; next++)
            if (added[next]->number[0] > last)
                last = added[next]->number[0];
        if (read[i]->number[0] != read[i]->number[1])
            judge_blame(verdict, "read during a refresh: %ld:%ld got %" PRId64 " and %" PRId64,
                        read[i]->client, read[i]->op, read[i]->number[0], read[i]->number[1]);
        if (read[i]->number[0] < last)
            judge_blame(verdict, "stale read: %ld:%ld got %" PRId64 " after %" PRId64,
                        read[i]->client, read[i]->op, read[i]->number[0], last);
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
