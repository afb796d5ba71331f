/* SPDX-License-Identifier: Apache-2.0 */
/* The judge's rules about waiting for a lease (judge.h). */
#include <inttypes.h>
#include <stdlib.h>

#include "torture/judge.h"

#define MOST_IDLE_NS INT64_C(15000000000)
#define FEW 8 /* too few hand-overs for a median */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* When the name was free again for certain. */
static int64_t freed_at(const struct history *history, const struct operation *hold)
{
    const struct operation *renewed = judge_renewal(history, hold, 1);
    const struct operation *asked = judge_renewal(history, hold, 0);
    const struct operation *leave = history_find(history, hold, KIND_LEAVE);
    int64_t until = most(hold->number[HOLD_UNTIL], hold->done);

    if (leave && leave->phase == PHASE_OK)
        return leave->done;
    until = renewed ? most(until, renewed->number[0]) : until;
    return asked ? most(until, asked->invoked) : until;
}

/* ---- waiting while the name is free ---------------------------------------------------------- */

/* When a client died whose operation is unknown: at its next operation if it lives on, because it
   only lost its session or its program; else when it was killed, which the runner logs last, as
   "stopped". 0: the history does not tell. */
static int64_t death_of(const struct history *history, const struct operation *dead)
{
    int64_t next = INT64_MAX, killed = 0;

    for (size_t i = 0; i < history->n; i++) {
        const struct operation *later = &history->operation[i];

        if (later->invoked <= dead->invoked)
            continue;
        if (later->kind == KIND_STOPPED && later->client == dead->client % MOST_CLIENTS)
            killed = most(killed, later->invoked);
        else if (later->client == dead->client && later->op != dead->op)
            next = least(next, later->invoked);
    }
    return next < INT64_MAX ? next : killed;
}

/* The last death, before this wait ended, of a client that waited for the same key and had begun
   before it. Each delays the others by up to 12 s (P6), and several that die in turn do so one
   after the other. */
static int64_t last_death(const struct history *history, const struct operation *wait)
{
    int64_t last = 0;

    for (size_t i = 0; i < history->n; i++) {
        const struct operation *dead = &history->operation[i];

        if (dead->kind == KIND_HOLD && dead->key == wait->key && dead->phase == PHASE_UNKNOWN &&
            dead->invoked < wait->invoked) {
            int64_t death = death_of(history, dead);

            last = most(last, death < wait->done ? death : 0);
        }
    }
    return last;
}

/* When the last outage of a cluster ended that began before the end of a wait; 0: none. */
static int64_t last_outage(const struct history *history, int64_t end)
{
    int64_t last = 0;

    /* the runner is client 0, and the operations are sorted */
    for (size_t i = 0; i < history->n && history->operation[i].client == 0; i++) {
        const struct operation *outage = &history->operation[i];

        if (outage->kind == KIND_OUTAGE && outage->invoked <= end)
            last = most(last, outage->done);
    }
    return last;
}

/* The longest time for which one client waited for the key between the two times, though it was not
   stopped. */
static void judge_idle(const struct history *history, long key, int64_t from, int64_t upto,
                       struct verdict *verdict)
{
    size_t n, n_stops;
    const struct operation **wait = judge_select(history, KIND_HOLD, 0, judge_by_completion, &n);
    const struct operation **stop =
        judge_select(history, KIND_STOPPED, 0, judge_by_value, &n_stops);

    for (size_t i = 0; i < n; i++) {
        int64_t begun = most(wait[i]->invoked, from), end = least(wait[i]->done, upto);

        begun = most(begun, last_outage(history, end));
        if (wait[i]->key != key || wait[i]->phase == PHASE_UNKNOWN ||
            end - begun <= verdict->idle || judge_was_stopped(stop, n_stops, wait[i]))
            continue;
        verdict->idle = end - begun;
        if (verdict->idle > MOST_IDLE_NS &&
            end - most(begun, last_death(history, wait[i])) > MOST_IDLE_NS)
            judge_blame(verdict, "waited: %ld:%ld for %" PRId64 " ms, while %ld was free",
                        wait[i]->client, wait[i]->op, verdict->idle / 1000000, key);
    }
    free(wait);
    free(stop);
}

/* Before the first grant of a key, between its grants, and after the last one. */
static void judge_all_idle(const struct history *history, struct verdict *verdict)
{
    size_t n;
    const struct operation **wait = judge_select(history, KIND_HOLD, 0, judge_by_completion, &n);
    int64_t freed = 0;

    for (size_t i = 0; i < n; i++) {
        if (i && wait[i - 1]->key != wait[i]->key)
            freed = 0;
        if (wait[i]->phase == PHASE_OK) {
            if (wait[i]->done - freed > verdict->idle)
                judge_idle(history, wait[i]->key, freed, wait[i]->done, verdict);
            freed = most(freed, freed_at(history, wait[i]));
        }
        if (i + 1 == n || wait[i + 1]->key != wait[i]->key)
            judge_idle(history, wait[i]->key, freed, INT64_MAX, verdict);
    }
    free(wait);
}

/* ---- hand-overs ------------------------------------------------------------------------------ */

static int by_length(const void *a, const void *b)
{
    return judge_compare(*(const int64_t *)a, *(const int64_t *)b);
}

/* From the release of a lease to the grant of the next one, for which a client was waiting. */
static int64_t median_of(const struct history *history, const struct operation *const *hold,
                         size_t n, size_t *n_found)
{
    int64_t *length = calloc(n + 1, sizeof *length), median;

    if (!length)
        abort();
    *n_found = 0;
    for (size_t i = 1; i < n; i++) {
        const struct operation *leave = history_find(history, hold[i - 1], KIND_LEAVE);

        if (hold[i - 1]->key == hold[i]->key && leave && leave->phase == PHASE_OK &&
            hold[i]->invoked < leave->invoked)
            length[(*n_found)++] = hold[i]->done - leave->invoked;
    }
    qsort(length, *n_found, sizeof *length, by_length);
    median = length[*n_found / 2];
    free(length);
    return median;
}

static void judge_hand_overs(const struct history *history, const struct operation *const *hold,
                             size_t n, struct verdict *verdict)
{
    size_t n_prompt, n_found;
    const struct operation **prompt =
        judge_select(history, KIND_PROMPT, 0, judge_by_value, &n_prompt);

    if (n_prompt) {
        int64_t median = median_of(history, hold, n, &n_found), limit_ms = prompt[0]->number[0];

        if (n_found >= FEW && median > limit_ms * 1000000)
            judge_blame(verdict,
                        "slow: half of %zu hand-overs took more than %" PRId64
                        " ms, the limit is %" PRId64 " ms",
                        n_found, median / 1000000, limit_ms);
    }
    free(prompt);
}

void judge_waits(const struct history *history, struct verdict *verdict)
{
    size_t n;
    const struct operation **hold = judge_select(history, KIND_HOLD, 1, judge_by_completion, &n);

    judge_all_idle(history, verdict);
    judge_hand_overs(history, hold, n, verdict);
    free(hold);
}
