/* SPDX-License-Identifier: Apache-2.0 */
/* The judge: its parts, and the rules about counters (judge.h). */
#include "torture/judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#define MOST_SHOWN 20

void judge_blame(struct verdict *verdict, const char *format, ...)
{
    va_list arguments;

    verdict->violations++;
    if (!verdict->out || verdict->violations > MOST_SHOWN)
        return;
    va_start(arguments, format);
    vfprintf(verdict->out, format, arguments);
    va_end(arguments);
    fputc('\n', verdict->out);
}

const struct operation **judge_select(const struct history *history, enum kind kind, int only_ok,
                                      judge_order order, size_t *n)
{
    const struct operation **found = calloc(history->n + 1, sizeof *found);

    if (!found)
        abort();
    *n = 0;
    for (size_t i = 0; i < history->n; i++) {
        const struct operation *operation = &history->operation[i];

        if (operation->kind == kind && (!only_ok || operation->phase == PHASE_OK))
            found[(*n)++] = operation;
    }
    qsort(found, *n, sizeof *found, order);
    return found;
}

int judge_compare(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

int judge_by_value(const void *a, const void *b)
{
    const struct operation *left = *(const struct operation *const *)a;
    const struct operation *right = *(const struct operation *const *)b;

    return left->key != right->key ? judge_compare(left->key, right->key)
                                   : judge_compare(left->number[0], right->number[0]);
}

int judge_by_completion(const void *a, const void *b)
{
    const struct operation *left = *(const struct operation *const *)a;
    const struct operation *right = *(const struct operation *const *)b;

    return left->key != right->key ? judge_compare(left->key, right->key)
                                   : judge_compare(left->done, right->done);
}

int judge_by_invocation(const void *a, const void *b)
{
    const struct operation *left = *(const struct operation *const *)a;
    const struct operation *right = *(const struct operation *const *)b;

    return left->key != right->key ? judge_compare(left->key, right->key)
                                   : judge_compare(left->invoked, right->invoked);
}

/* ---- counters -------------------------------------------------------------------------------- */

/* The values of one key, in order. */
static void judge_values(const struct operation *const *row, size_t n, struct verdict *verdict)
{
    for (size_t i = 0; i < n; i++) {
        int64_t before = i && row[i - 1]->key == row[i]->key ? row[i - 1]->number[0] : 0;
        int64_t value = row[i]->number[0];

        if (value == before)
            judge_blame(verdict, "lost update: %ld:%ld and %ld:%ld both wrote %" PRId64 " to %ld",
                        row[i - 1]->client, row[i - 1]->op, row[i]->client, row[i]->op, value,
                        row[i]->key);
        else if (value != before + 1)
            judge_blame(verdict, "gap: after %" PRId64 " comes %" PRId64 " in %ld", before, value,
                        row[i]->key);
        if (before && row[i]->number[1] < row[i - 1]->number[1])
            judge_blame(verdict,
                        "late write: %" PRId64 " of %ld has token %" PRId64
                        ", and the value before it token %" PRId64,
                        value, row[i]->key, row[i]->number[1], row[i - 1]->number[1]);
    }
}

/* Each row is of one operation that did not fail. */
static void judge_rows(const struct history *history, const struct operation *const *row, size_t n,
                       struct verdict *verdict)
{
    for (size_t i = 0; i < n; i++) {
        const struct operation *add = history_find(history, row[i], KIND_ADD);
        const struct operation *first = history_find(history, row[i], KIND_FINAL);

        if (!add || add->phase == PHASE_FAIL)
            judge_blame(verdict, "%ld:%ld %s, but %" PRId64 " is in %ld", row[i]->client,
                        row[i]->op, add ? "had failed" : "was never invoked", row[i]->number[0],
                        row[i]->key);
        if (first != row[i] && first && first + 1 == row[i])
            judge_blame(verdict, "%ld:%ld took effect twice in %ld", row[i]->client, row[i]->op,
                        row[i]->key);
    }
}

static void judge_acknowledged(const struct history *history, struct verdict *verdict)
{
    for (size_t i = 0; i < history->n; i++) {
        const struct operation *add = &history->operation[i], *row;

        if (add->kind != KIND_ADD || add->phase != PHASE_OK)
            continue;
        if (judge_is_forgotten(history, add)) {
            verdict->forgotten++;
            continue;
        }
        row = history_find(history, add, KIND_FINAL);
        if (!row || row->number[0] != add->number[0])
            judge_blame(verdict, "lost: %ld:%ld was acknowledged as %" PRId64 " of %ld, and is %s",
                        add->client, add->op, add->number[0], add->key,
                        row ? "another value" : "not there");
    }
}

/* Backwards: no later value may have been acknowledged before this one was requested. */
static void judge_real_time(const struct history *history, const struct operation *const *row,
                            size_t n, struct verdict *verdict)
{
    int64_t earliest = INT64_MAX;

    for (size_t i = n; i-- > 0;) {
        const struct operation *add = history_find(history, row[i], KIND_ADD);

        if (i + 1 < n && row[i + 1]->key != row[i]->key)
            earliest = INT64_MAX;
        if (!add)
            continue;
        if (earliest < add->invoked)
            judge_blame(verdict,
                        "order: %ld:%ld got %" PRId64
                        " of %ld, after a greater value was acknowledged",
                        add->client, add->op, row[i]->number[0], add->key);
        if (add->phase == PHASE_OK && add->done < earliest)
            earliest = add->done;
    }
}

void judge_counters(const struct history *history, struct verdict *verdict)
{
    size_t n;
    const struct operation **row = judge_select(history, KIND_FINAL, 1, judge_by_value, &n);

    judge_values(row, n, verdict);
    judge_rows(history, row, n, verdict);
    judge_acknowledged(history, verdict);
    judge_real_time(history, row, n, verdict);
    free(row);
}

/* ---- all rules ------------------------------------------------------------------------------- */

int judge_was_stopped(const struct operation *const *stop, size_t n, const struct operation *it)
{
    for (size_t i = 0; i < n; i++)
        if (stop[i]->client == it->client % MOST_CLIENTS && stop[i]->invoked <= it->done &&
            it->invoked <= stop[i]->done)
            return 1;
    return 0;
}

static void count(const struct history *history, struct verdict *verdict)
{
    size_t n;
    const struct operation **stop = judge_select(history, KIND_STOPPED, 0, judge_by_value, &n);

    for (size_t i = 0; i < history->n; i++) {
        const struct operation *it = &history->operation[i];

        if (it->kind != KIND_ADD && it->kind != KIND_HOLD && it->kind != KIND_READ)
            continue;
        verdict->operations += it->phase == PHASE_OK;
        verdict->leases += it->phase == PHASE_OK && it->kind == KIND_HOLD;
        verdict->unknown += it->phase == PHASE_UNKNOWN;
        if (it->phase == PHASE_OK && it->done - it->invoked > verdict->longest &&
            !judge_was_stopped(stop, n, it))
            verdict->longest = it->done - it->invoked;
    }
    free(stop);
}

static int by_time(const void *a, const void *b)
{
    return judge_compare((*(const struct operation *const *)a)->done,
                         (*(const struct operation *const *)b)->done);
}

static void find_gap(const struct history *history, struct verdict *verdict)
{
    size_t n;
    const struct operation **hold = judge_select(history, KIND_HOLD, 1, by_time, &n);

    for (size_t i = 1; i < n; i++)
        if (hold[i]->done - hold[i - 1]->done > verdict->gap)
            verdict->gap = hold[i]->done - hold[i - 1]->done;
    free(hold);
}

void judge(const struct history *history, struct verdict *verdict)
{
    count(history, verdict);
    find_gap(history, verdict);
    judge_counters(history, verdict);
    judge_exclusion(history, verdict);
    judge_tokens(history, verdict);
    judge_fences(history, verdict);
    judge_acts(history, verdict);
    judge_runs(history, verdict);
    judge_reads(history, verdict);
    judge_waits(history, verdict);
    judge_order_of_queue(history, verdict);
    judge_busy(history, verdict);
    judge_kept(history, verdict);
    judge_free(history, verdict);
}
