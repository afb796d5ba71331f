/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The acquire machine: the try without a ticket, a lost session, and the transitions between all
 * states. The states of a queued waiter are in queue.c.
 */
#include "lease/machine/state.h"
#include "util/clock.h"

#define TRY_WAIT_MS 250  /* how long a try waits for the name lock, which another grant holds */
#define ENDED_MS 2000    /* how long a try is repeated after the server ended it */
#define SETTLE_MS 2000   /* a lost session has finished its last statement by then */
#define CLEARING_MS 1000 /* maximum time of a try for removing dead tickets */
#define BUSY_MAX_MS 250  /* maximum backoff before a ticket in a busy file is retried */
#define RECONNECT_MS 50  /* the first backoff before another attempt to connect */
#define RECONNECT_MAX_MS 5000

/* ---- a try ----------------------------------------------------------------------------------- */

static step try_once(machine *m, int64_t limit)
{
    m->state = TRYING;
    return (step){.act = ROWLOCK_ACT_GRANT, .limit_ms = limit};
}

/* The name lock is held. A try waits briefly; in one piece if the server does the waiting. */
static step try_again(machine *m, int64_t now, uint32_t dice)
{
    if (!m->in.tries)
        return rowlock__queue_enter(m, now);
    if (!m->repeat.until_ms) {
        m->repeat.until_ms = now + TRY_WAIT_MS;
        return try_once(m, TRY_WAIT_MS);
    }
    if (now >= m->repeat.until_ms)
        return rowlock__step_finish(m, ROWLOCK_EBUSY);
    return rowlock__step_pause(m, now, TRY_PAUSE, rowlock__least(STEP_MS, m->repeat.until_ms - now),
                               dice);
}

/* The server ended the attempt, as it ends the victim of a deadlock: the name may be free. The next
   attempts follow after growing pauses, and each may wait for the name lock. */
static step try_as_if_new(machine *m, int64_t now, uint32_t dice)
{
    step pause;

    if (!m->in.tries)
        return rowlock__queue_enter(m, now);
    if (!m->repeat.ended_ms) {
        m->repeat.ended_ms = now + ENDED_MS;
        m->pace.pause_ms = 0;
    } else if (now >= m->repeat.ended_ms) {
        return rowlock__step_finish(m, ROWLOCK_EBUSY);
    }
    pause = rowlock__step_pause(m, now, TRY_PAUSE, rowlock__step_backoff(m, STEP_MS, BUSY_MAX_MS),
                                dice);
    m->repeat.until_ms = rowlock__most(m->repeat.until_ms, m->pace.due_ms + TRY_WAIT_MS);
    return pause;
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
    if (m->settles) {
        /* The conflict may be our own grant: the lost session may still have been working. Take
           the name lock to check, because that session held it until it was done. */
        m->settles = false;
        return try_once(m, rowlock__step_within(m, now, SETTLE_MS));
    }
    switch (r->status) {
    case ROWLOCK_STATUS_LEASED:
        m->held_by = r->number;
        return m->in.tries ? rowlock__step_finish(m, ROWLOCK_EBUSY) : rowlock__queue_enter(m, now);
    case ROWLOCK_STATUS_QUEUED:
        if (!m->in.tries)
            return rowlock__queue_enter(m, now);
        /* if the ticket's owner is dead, we get its session lock at once and remove its row */
        if (!m->repeat.until_ms)
            m->repeat.until_ms = now + CLEARING_MS;
        if (!m->in.remote || !r->number || r->number == m->waited_for || now >= m->repeat.until_ms)
            return rowlock__step_finish(m, ROWLOCK_EBUSY);
        m->waited_for = r->number;
        m->state = PROBING;
        return (step){.act = ROWLOCK_ACT_AWAIT, .number = r->number};
    default:
        return try_again(m, now, dice);
    }
}

/* ---- a lost session -------------------------------------------------------------------------- */

/* A waiter also waits for the database, within the same limit. */
static bool connecting_is_over(const machine *m, int64_t now)
{
    return m->in.tries ? now - m->lost_since_ms >= m->in.reconnect_ms
                       : rowlock__step_is_late(m, now);
}

static step rest(machine *m, int64_t now, int code, uint32_t dice)
{
    if (connecting_is_over(m, now))
        return rowlock__step_finish(m, code);
    return rowlock__step_pause(m, now, CONNECT_PAUSE,
                               rowlock__step_backoff(m, RECONNECT_MS, RECONNECT_MAX_MS), dice);
}

/* Opens another session; after a pause, if the last one gave no answer. `code`: the error that the
   caller gets when the time for that has ended. */
static step replace(machine *m, int64_t now, int code, uint32_t dice)
{
    rowlock__queue_forget(m);
    if (m->lost_since_ms) /* lost again, without any answer in between */
        return rest(m, now, code, dice);
    m->lost_since_ms = now;
    m->pace.pause_ms = 0;
    m->state = CONNECTING;
    return (step){.act = ROWLOCK_ACT_RECONNECT};
}

/* The ticket's session lock is gone, so the ticket counts as dead; but a grant may be committed. */
static step lost(machine *m, int64_t now, uint32_t dice)
{
    if (m->state == TRYING || m->state == TAKING || m->state == TURNING || m->state == SEIZING)
        m->unsure = m->settles = true;
    m->asked = false;
    m->left = false;
    if (m->in.reconnect_ms)
        return replace(m, now, ROWLOCK_ECONN, dice);
    rowlock__queue_forget(m);
    return rowlock__step_finish(m, ROWLOCK_ECONN);
}

static step after_connect(machine *m, int64_t now, int code, uint32_t dice)
{
    switch (code) {
    case ROWLOCK_OK:
        m->repeat.until_ms = m->repeat.ended_ms = 0;
        return try_once(m, 0); /* finds our lease, if there is one */
    case ROWLOCK_ECONN:
    case ROWLOCK_EUNKNOWN:
    case ROWLOCK_ETIMEDOUT:
        return rest(m, now, ROWLOCK_ECONN, dice);
    case ROWLOCK_ESERVER: /* a standby that may be promoted; a try does not wait for that */
        if (m->left && m->in.tries)
            return rowlock__step_finish(m, code);
        return rest(m, now, code, dice);
    default:
        return rowlock__step_finish(m, code);
    }
}

/* ---- transitions ----------------------------------------------------------------------------- */

/* Nothing was done: the file is busy, or we were the victim of a deadlock. */
static step not_done(machine *m, int64_t now, int code, uint32_t dice)
{
    switch (m->state) {
    case TRYING:
        return code == ROWLOCK_ETIMEDOUT ? try_again(m, now, dice) : try_as_if_new(m, now, dice);
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
        return not_done(m, now, code, dice);
    case ROWLOCK_EUNPREPARED: /* a vacuum removed the name again: retried until the deadline */
        return m->in.tries ? rowlock__step_give_up(m, code) : not_done(m, now, code, dice);
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
        return try_once(m, rowlock__most(m->repeat.until_ms - now, 1));
    case QUEUING:
        return rowlock__queue_entered(m, now, r);
    case QUEUE_PAUSE:
    case DROPPING:
        return rowlock__queue_enter(m, now);
    case LOOKING:
        return rowlock__queue_looked(m, now, r, dice);
    case AWAITING:
        return rowlock__queue_awaited(m, now, r);
    case SEIZING:
        return r->status == ROWLOCK_STATUS_OK ? rowlock__step_granted(m, r)
                                              : rowlock__queue_look(m, now);
    case TURNING:
        return rowlock__queue_turned(m, now, r);
    case TAKING:
        return rowlock__queue_took(m, now, r, dice);
    case OVERTAKING:
        return rowlock__queue_overtook(m, now, r);
    case CONNECT_PAUSE:
        if (connecting_is_over(m, now))
            return rowlock__step_finish(m, m->left ? ROWLOCK_ESERVER : ROWLOCK_ECONN);
        m->state = CONNECTING;
        return (step){.act = ROWLOCK_ACT_RECONNECT};
    default:
        return rowlock__queue_look(m, now);
    }
}

step rowlock__acquire_start(machine *m, int64_t now_ms)
{
    m->ticket.place = 1;
    if (m->in.remote)
        return try_once(m, 0);
    /* a grant of another name holds a file's write lock only briefly */
    m->repeat.until_ms = now_ms + TRY_WAIT_MS;
    return try_once(m, rowlock__step_within(m, now_ms, TRY_WAIT_MS));
}

static step next(machine *m, int64_t now_ms, const reply *r, uint32_t dice)
{
    switch (m->state) {
    case WITHDRAWING: /* if it failed: without its lock the ticket counts as dead */
        m->ticket.locked = m->ticket.locked && !r->session_unlocked;
        return rowlock__step_leave(m, m->code);
    case LEAVING:
        return rowlock__step_finish(m, m->code);
    case CONNECTING:
        return after_connect(m, now_ms, r->code, dice);
    case ENDED:
        return rowlock__step_finish(m, m->code);
    default:
        if (r->code)
            return failed(m, now_ms, r->code, dice);
        if (m->state != CONNECT_PAUSE)
            m->lost_since_ms = 0;
        return answered(m, now_ms, r, dice);
    }
}

step rowlock__acquire_next(machine *m, int64_t now_ms, const reply *r, uint32_t dice)
{
    bool connects = m->state == CONNECTING || m->state == CONNECT_PAUSE || m->state == ENDED;
    step s = next(m, now_ms, r, dice);

    if (s.act != ROWLOCK_ACT_DONE || m->code != ROWLOCK_ESERVER || connects || !m->in.moves)
        return s;
    /* The server has become read-only. The ticket was withdrawn before, as far as that was
       possible. A try looks once for another server. */
    if (m->in.tries && m->left && m->lost_since_ms)
        return rowlock__step_finish(m, ROWLOCK_ESERVER);
    m->left = true;
    return replace(m, now_ms, ROWLOCK_ESERVER, dice);
}
