/* SPDX-License-Identifier: Apache-2.0 */
/* The reference model of transaction locks (model.h). */
#include "lib/model.h"

#include <string.h>

static int conflict(const struct actor *a, const struct actor *b)
{
    return a->mode == ROWLOCK_EXCLUSIVE || b->mode == ROWLOCK_EXCLUSIVE;
}

static int passes(const struct model *model, int me, int ahead)
{
    for (int i = 0; i < model->n; i++)
        if (i != me && model->actor[i].holds && conflict(&model->actor[i], &model->actor[me]))
            return 0;
    for (int i = 0; i < ahead; i++)
        if (conflict(&model->actor[model->queue[i]], &model->actor[me]))
            return 0;
    return 1;
}

/* Only technique row must know a name first; preparing one takes a transaction of its own. */
static int is_unprepared(const struct model *model, const struct actor *actor, enum step_kind kind)
{
    int begins = kind == STEP_BEGIN_LOCK || kind == STEP_BEGIN_TRY;

    if (model->known || actor->door == DOOR_OWN)
        return 0;
    if (actor->door == DOOR_BORROWED)
        return !begins;
    return !(kind == STEP_BEGIN_LOCK && strcmp(t_engine()->name, "mariadb") == 0);
}

static enum outcome take(struct model *model, int me, enum step_kind kind)
{
    struct actor *actor = &model->actor[me];
    int patient = kind == STEP_BEGIN_LOCK || kind == STEP_LOCK;

    if (actor->holds)
        return PASSES;
    if (is_unprepared(model, actor, kind))
        return IS_UNPREPARED;
    model->known = 1;
    /* Where row locks have no queue, a late sharer passes a waiting writer. */
    if (passes(model, me,
               t_facts()->writer_queues || actor->mode == ROWLOCK_EXCLUSIVE ? model->queued : 0)) {
        actor->holds = 1;
        return PASSES;
    }
    if (!patient)
        return IS_BUSY;
    actor->waits = 1;
    model->queue[model->queued++] = me;
    return WAITS;
}

static void release(struct model *model, int me, int committed)
{
    int left = 0;

    if (committed)
        model->committed += model->actor[me].added;
    model->actor[me].added = 0;
    model->actor[me].holds = 0;
    for (int i = 0; i < model->queued; i++) {
        int next = model->queue[i];

        if (passes(model, next, left)) {
            model->actor[next].holds = 1;
            model->actor[next].waits = 0;
        } else {
            model->queue[left++] = next;
        }
    }
    model->queued = left;
}

/* Omits steps that make no sense after a failure. */
static void leave_out(struct actor *actor, enum step_kind kind, enum outcome outcome)
{
    if (outcome == IS_BUSY && kind == STEP_BEGIN_TRY && actor->door != DOOR_SQL)
        while (actor->steps[actor->at] != STEP_END)
            actor->at++;
    while (outcome == IS_UNPREPARED && actor->steps[actor->at] != STEP_COMMIT &&
           actor->steps[actor->at] != STEP_ROLLBACK && actor->steps[actor->at] != STEP_END)
        actor->at++;
}

enum outcome model_step(struct model *model, int me)
{
    struct actor *actor = &model->actor[me];
    enum step_kind kind = actor->steps[actor->at++];
    enum outcome outcome = PASSES;

    switch (kind) {
    case STEP_BEGIN_LOCK:
    case STEP_BEGIN_TRY:
    case STEP_LOCK:
    case STEP_TRY:
        outcome = take(model, me, kind);
        leave_out(actor, kind, outcome);
        break;
    case STEP_PREPARE:
        model->known = 1;
        break;
    case STEP_ROLLBACK_TO:
        actor->added = 0;
        release(model, me, 0);
        break;
    case STEP_COMMIT:
    case STEP_ROLLBACK:
        release(model, me, kind == STEP_COMMIT);
        break;
    default:
        break;
    }
    return outcome;
}
