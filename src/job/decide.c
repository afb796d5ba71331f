/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what a node may do about a job now: see decide.h. */
#include "job/decide.h"

#include "util/clock.h"

/* A due time older than this is missed. After a change of the schedule, a due time within this span
   is still claimed; otherwise two nodes that disagree would postpone the job forever. */
#define LATE_MS 60000
/* If the clock went back by more than this, or by more than a period if that is shorter, it had
   been wrong: the job is planned again by the right time. After a smaller step no run is repeated.
   */
#define WRONG_MS 3600000

typedef struct rowlock_job_state state;
typedef struct rowlock_job_rules rules;
typedef struct rowlock_job_decision decision;

/* Planned while the clock showed a time that is still in the future. */
static bool is_misplanned(const state *s, const rules *r)
{
    int64_t next = rowlock__schedule_next(r->schedule, s->now_ms);
    int64_t period_ms = rowlock__schedule_next(r->schedule, next) - next;

    if (period_ms > WRONG_MS)
        period_ms = WRONG_MS;
    return s->known && s->same_schedule &&
           s->due_ms > rowlock__schedule_next(r->schedule, s->now_ms + period_ms);
}

/* A new job with a period is due at once, one with a cron line at its next due time. */
static int64_t due_of(const state *s, const rules *r)
{
    if (!s->known && r->schedule->period_ms)
        return rowlock__schedule_previous(r->schedule, s->now_ms);
    if (!s->known || is_misplanned(s, r))
        return rowlock__schedule_next(r->schedule, s->now_ms);
    if (s->same_schedule)
        return s->due_ms;
    return rowlock__schedule_next(r->schedule, rowlock__most(s->last_ms, s->now_ms - LATE_MS));
}

static int most_repeats(const rules *r, bool lost)
{
    return r->retry >= 0 ? r->retry : lost;
}

/* Its run left no lease, and no node has recorded the reason. */
static bool is_lost(const state *s)
{
    return s->running && !s->broken && !s->not_started;
}

/* A user made it due by rowlock_hasten_job: the due time is not one of the schedule's, and it is
   not skipped. */
static bool is_requested(const state *s, const rules *r, int64_t due)
{
    return s->known && s->same_schedule && rowlock__schedule_previous(r->schedule, due) != due;
}

/* The run is that of the latest due time that has come: the schedule's, or the planned one if that
   is later. */
static decision come(const state *s, const rules *r, int64_t due)
{
    int64_t instant = rowlock__schedule_previous(r->schedule, s->now_ms);
    int64_t next = rowlock__schedule_next(r->schedule, s->now_ms);
    bool lost = is_lost(s), broken = s->running && s->broken;

    instant = instant == ROWLOCK_NEVER ? due : rowlock__most(instant, due);
    if (r->skips_missed && s->known && s->now_ms - instant > LATE_MS && !is_requested(s, r, due))
        return (decision){.act = s->running ? ROWLOCK_JOB_SETTLE : ROWLOCK_JOB_PLAN,
                          .due_ms = next,
                          .lost = lost,
                          .broken = broken};
    return (decision){.act = ROWLOCK_JOB_CLAIM,
                      .instant_ms = instant,
                      .due_ms = next,
                      .lost = lost,
                      .broken = broken};
}

/* A due time that contradicts this node's data is left to the nodes that agree with it. If none has
   claimed it within a minute, none is there. Then this node's own due time counts, the next or the
   previous one, whichever is nearer. */
static decision leave(const state *s, const rules *r, int64_t due)
{
    int64_t before = rowlock__schedule_previous(r->schedule, due);
    int64_t next = rowlock__schedule_next(r->schedule, due);
    bool lost = is_lost(s), broken = s->running && s->broken;

    if (s->now_ms - due <= LATE_MS)
        return (decision){.act = ROWLOCK_JOB_WAIT, .until_ms = due + LATE_MS + 1, .due_ms = due};
    if (next <= s->now_ms || (before != ROWLOCK_NEVER && due - before < next - due))
        return come(s, r, due);
    return (decision){.act = s->running ? ROWLOCK_JOB_SETTLE : ROWLOCK_JOB_PLAN,
                      .due_ms = next,
                      .lost = lost,
                      .broken = broken};
}

static decision again(const state *s, int64_t due, bool lost)
{
    return (decision){.act = ROWLOCK_JOB_CLAIM,
                      .instant_ms = s->last_ms,
                      .due_ms = due,
                      .repeats = s->not_started ? s->repeats : s->repeats + 1,
                      .lost = lost};
}

/* At most a quarter of the interval before `due`, so that no call waits until the
   next one begins. */
static bool is_early(const state *s, const rules *r, int64_t due)
{
    int64_t before;

    if (due == ROWLOCK_NEVER || due - s->now_ms > r->early_ms)
        return false;
    before = rowlock__schedule_previous(r->schedule, due - 1);
    return before == ROWLOCK_NEVER || due - s->now_ms <= (due - before) / 4;
}

decision rowlock__job_decide(const state *s, const rules *r)
{
    int64_t due = due_of(s, r), repeat_ms = ROWLOCK_NEVER;

    /* The other node may finish its run, or die, at any time: look again at every due time. */
    if (s->held)
        return (decision){
            .act = ROWLOCK_JOB_WAIT,
            .until_ms = rowlock__least(s->free_ms, rowlock__schedule_next(r->schedule, s->now_ms)),
            .due_ms = due};
    /* A node with other time-zone data planned it, if the same text has no such due time here,
       though it is a whole minute: rowlock_hasten_job stores none of these. */
    if (due <= s->now_ms)
        return r->schedule->zone && due % 60000 == 0 && is_requested(s, r, due) ? leave(s, r, due)
                                                                                : come(s, r, due);
    /* Its run left no lease. If the clock went back, a retry's due time may be in the future. */
    if (s->known && s->running && !s->not_started) {
        if (s->broken || s->repeats >= most_repeats(r, true) || is_misplanned(s, r))
            return (decision){
                .act = ROWLOCK_JOB_SETTLE, .due_ms = due, .lost = !s->broken, .broken = s->broken};
        return s->last_ms > s->now_ms
                   ? (decision){.act = ROWLOCK_JOB_WAIT, .until_ms = s->last_ms, .due_ms = due}
                   : again(s, due, true);
    }
    /* When to claim the last due time again, after a failure or a run that did not start. */
    if (s->known && (s->not_started || (s->failed_ms && s->repeats < most_repeats(r, false))))
        repeat_ms = rowlock__most(s->failed_ms + r->backoff_ms, s->last_ms);
    if (repeat_ms <= s->now_ms)
        return again(s, due, false);
    if (!s->known || (!s->not_started && (!s->same_schedule || is_misplanned(s, r))))
        return (decision){.act = ROWLOCK_JOB_PLAN, .due_ms = due};
    if (is_early(s, r, due))
        return (decision){.act = ROWLOCK_JOB_AWAIT, .until_ms = due, .due_ms = due};
    return (decision){
        .act = ROWLOCK_JOB_WAIT, .until_ms = rowlock__least(repeat_ms, due), .due_ms = due};
}
