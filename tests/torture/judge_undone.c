/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A database that forgot what it had acknowledged (judge.h): an asynchronous standby was promoted
 * that lagged, or an older dump was restored. The runner logs the time in which an acknowledged
 * commit may have been undone. It ends after the old database, and before the new one is reachable.
 */
#include "torture/judge.h"

int64_t judge_undone(const struct history *history, int64_t acknowledged)
{
    /* the runner is client 0, and the operations are sorted */
    for (size_t i = 0; i < history->n && history->operation[i].client == 0; i++) {
        const struct operation *loss = &history->operation[i];

        if (loss->kind == KIND_UNDONE && loss->invoked <= acknowledged &&
            acknowledged <= loss->done)
            return loss->done;
    }
    return 0;
}

int judge_undone_between(const struct history *history, int64_t one, int64_t other)
{
    int64_t first = one < other ? one : other, second = one < other ? other : one;
    int64_t undone = judge_undone(history, first);

    return undone && second > undone;
}

int judge_is_forgotten(const struct history *history, const struct operation *add)
{
    return judge_undone(history, add->done) && !history_find(history, add, KIND_FINAL);
}

/* A renewal that succeeds afterwards proves that the grant is still there. */
int64_t judge_undone_end(const struct history *history, const struct operation *hold)
{
    const struct operation *renew = history_find(history, hold, KIND_RENEW);
    int renewed = renew && renew->phase == PHASE_OK;
    int64_t grant = judge_undone(history, hold->done);
    int64_t renewal = renewed ? judge_undone(history, renew->done) : 0;

    if (grant && !(renewed && renew->invoked > grant))
        return grant;
    if (renewal)
        return renewal > hold->number[HOLD_UNTIL] ? renewal : hold->number[HOLD_UNTIL];
    return INT64_MAX;
}
