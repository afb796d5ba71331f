/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acquiring a lease: the try without a ticket, the session that was lost, and the way from every state
 * to the next. What happens in the queue is in queue.c.
 */
#include "lease/machine/state.h"
#include "util/clock.h"

#define MOMENT_MS 250    /* a try waits so long for T: another grant has it */
#define SETTLE_MS 2000   /* a lost session that was at work has done it by then */
#define CLEARING_MS 1000 /* a try spends so long at most on removing dead tickets */
#define BUSY_MAX_MS 250  /* a ticket in a busy file is tried again after so long at the latest */
#define RECONNECT_MS 50  /* the first pause before another attempt to connect */
#define RECONNECT_MAX_MS 5000

/* ---- a try -------------------------------------------------------------------------------------- */

static step try_once(machine *m, int64_t limit)
{
    m->state = TRYING;
    return (step){.act = ROWLOCK_ACT_GRANT, .limit_ms = limit};
}

/* T is not to be had. A try waits for it a moment, in one piece where the server does the waiting. */
static step try_again(machine *m, int64_t now, uint32_t dice)
{
    if (!m->tries)
        return rowlock__queue_enter(m, now);
    if (!m->moment_ms) {
        m->moment_ms = now + MOMENT_MS;
        return try_once(m, MOMENT_MS);
    }
    if (now >= m->moment_ms)
        return rowlock__step_finish(m, ROWLOCK_EBUSY);
    return rowlock__step_pause(m, now, TRY_PAUSE, rowlock__least(STEP_MS, m->moment_ms - now),
                               dice);
}

/* A try behind a ticket: if that is dead, its lock comes at once, and its row goes. */
static step probe(machine *m, int64_t now, const reply *r)
{
    if (!m->moment_ms)
        m->moment_ms = now + CLEARING_MS;
    if (!m->remote || !r->number || r->number == m->waited_for || now >= m->moment_ms)
        return rowlock__step_finish(m, ROWLOCK_EBUSY);
    m->waited_for = r->number;
    m->state = PROBING;
    return (step){.act = ROWLOCK_ACT_AWAIT, .number = r->number};
}

/* The lost session may have been at work still while we asked, and what is in the way now be ours: its
   name's T tells, for it had that until it was done. */
static step settle(machine *m, int64_t now)
{
    m->settles = false;
    return try_once(m, rowlock__step_within(m, now, SETTLE_MS));
}

static step after_try(machine *m, int64_t now, const reply *r, uint32_t dice)
{
    switch (r->status) {
    case ROWLOCK_STATUS_OK:
        return rowlock__step_granted(m, r);
    case ROWLOCK_STATUS_LIMIT:
        return rowlock__step_finish(m, ROWLOCK_ELIMIT);
    default:
        break;
    }
    if (m->settles)
        return settle(m, now);
    switch (r->status) {
    case ROWLOCK_STATUS_LEASED:
        m->held_by = r->number;
        return m->tries ? rowlock__step_finish(m, ROWLOCK_EBUSY) : rowlock__queue_enter(m, now);
    case ROWLOCK_STATUS_QUEUED:
        return m->tries ? probe(m, now, r) : rowlock__queue_enter(m, now);
    default:
        return try_again(m, now, dice);
    }
}

/* ---- a lost session ------------------------------------------------------------------------------ */

static step reconnect(machine *m)
{
    m->state = CONNECTING;
    return (step){.act = ROWLOCK_ACT_RECONNECT};
}

/* Who waits for the lock waits for the database too, as long as for that. */
static bool connecting_is_over(const machine *m, int64_t now)
{
    return m->tries ? now - m->lost_since_ms >= m->reconnect_ms : rowlock__step_is_late(m, now);
}

static step rest(machine *m, int64_t now, int code, uint32_t dice)
{
    if (connecting_is_over(m, now))
        return rowlock__step_finish(m, code);
    return rowlock__step_pause(m, now, CONNECT_PAUSE,
                               rowlock__step_backoff(m, RECONNECT_MS, RECONNECT_MAX_MS), dice);
}

/* Its ticket's lock is gone, so the ticket is as good as dead; but a grant may have been committed. */
static step lost(machine *m, int64_t now, uint32_t dice)
{
    if (m->state == TRYING || m->state == TAKING || m->state == TURNING)
        m->unsure = m->settles = true;
    m->asked = false;
    rowlock__queue_forget(m);
    if (!m->reconnect_ms)
        return rowlock__step_finish(m, ROWLOCK_ECONN);
    if (m->lost) /* again, and nothing was answered in between */
        return rest(m, now, ROWLOCK_ECONN, dice);
    m->lost = true;
    m->lost_since_ms = now;
    m->pause_ms = 0;
    return reconnect(m);
}

static step after_connect(machine *m, int64_t now, int code, uint32_t dice)
{
    switch (code) {
    case ROWLOCK_OK:
        m->moment_ms = 0;
        return try_once(m, 0); /* a lease of ours that is there is its answer */
    case ROWLOCK_ECONN:
    case ROWLOCK_EUNKNOWN:
    case ROWLOCK_ETIMEDOUT:
        return rest(m, now, ROWLOCK_ECONN, dice);
    case ROWLOCK_ESERVER: /* a standby that is to be promoted */
        return rest(m, now, code, dice);
    default:
        return rowlock__step_finish(m, code);
    }
}

/* ---- all together -------------------------------------------------------------------------------- */

/* Nothing was done: the file is busy, or we were the victim of a deadlock. */
static step not_done(machine *m, int64_t now, uint32_t dice)
{
    switch (m->state) {
    case TRYING:
        return try_again(m, now, dice);
    case PROBING:
        return rowlock__step_finish(m, ROWLOCK_EBUSY);
    case QUEUING:
        return rowlock__step_pause(m, now, QUEUE_PAUSE,
                                   rowlock__step_backoff(m, STEP_MS, BUSY_MAX_MS), dice);
    default:
        return rowlock__step_pause(m, now, WAITING, STEP_MS, dice);
    }
}

static step failed(machine *m, int64_t now, int code, uint32_t dice)
{
    switch (code) {
    case ROWLOCK_ECONN:
    case ROWLOCK_EUNKNOWN:
        return lost(m, now, dice);
    case ROWLOCK_ETIMEDOUT:
    case ROWLOCK_EROLLEDBACK:
    case ROWLOCK_EABORTED:
        return not_done(m, now, dice);
    case ROWLOCK_EUNPREPARED: /* a vacuum removed the name again: a wait lasts until its deadline */
        return m->tries ? rowlock__step_give_up(m, code) : not_done(m, now, dice);
    default:
        return rowlock__step_give_up(m, code);
    }
}

static step answered(machine *m, int64_t now, const reply *r, uint32_t dice)
{
    switch (m->state) {
    case TRYING:
        return after_try(m, now, r, dice);
    case PROBING:
        return r->number == 1 ? try_once(m, 0) : rowlock__step_finish(m, ROWLOCK_EBUSY);
    case TRY_PAUSE:
        return try_once(m, rowlock__most(m->moment_ms - now, 1));
    case QUEUING:
        return rowlock__queue_entered(m, now, r);
    case QUEUE_PAUSE:
    case DROPPING:
        return rowlock__queue_enter(m, now);
    case LOOKING:
        return rowlock__queue_looked(m, now, r, dice);
    case AWAITING:
        if (r->number != 1)
            m->waited_for = 0;
        return rowlock__queue_look(m, now);
    case TURNING:
        return rowlock__queue_turned(m, now, r);
    case TAKING:
        return rowlock__queue_took(m, now, r, dice);
    case OVERTAKING:
        return rowlock__queue_overtook(m, now, r);
    case CONNECT_PAUSE:
        return connecting_is_over(m, now) ? rowlock__step_finish(m, ROWLOCK_ECONN) : reconnect(m);
    default:
        return rowlock__queue_look(m, now);
    }
}

step rowlock__acquire_start(machine *m, int64_t now_ms)
{
    m->place = 1;
    if (m->remote)
        return try_once(m, 0);
    /* a file's write lock is some other name's for a moment only */
    m->moment_ms = now_ms + MOMENT_MS;
    return try_once(m, rowlock__step_within(m, now_ms, MOMENT_MS));
}

step rowlock__acquire_next(machine *m, int64_t now_ms, const reply *r, uint32_t dice)
{
    switch (m->state) {
    case WITHDRAWING: /* if it failed, without its lock the ticket counts as dead */
    case LEAVING:
        return m->state == WITHDRAWING ? rowlock__step_leave(m, m->result)
                                       : rowlock__step_finish(m, m->result);
    case CONNECTING:
        return after_connect(m, now_ms, r->code, dice);
    case ENDED:
        return rowlock__step_finish(m, m->code);
    default:
        if (r->code)
            return failed(m, now_ms, r->code, dice);
        m->lost = m->lost && m->state == CONNECT_PAUSE;
        return answered(m, now_ms, r, dice);
    }
}
