/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acquiring a lease: from the ticket to the grant, and past waiters that are frozen.
 *
 * A waiter that finds the name free for some time calls the roll: it visits T, the name lock, three
 * times. The first visit marks every ticket before its own; a live waiter looks in time, and so answers.
 * The second one only waits for T: a waiter that stands in T's queue is silent, and looks when it has been
 * refused there. The third one removes the tickets that did not answer.
 */
#include "lease/machine/state.h"
#include "util/clock.h"

#define SLICE_MS 60000 /* one wait for T: a statement that waits holds back vacuum */
#define HEAD_MS 1000   /* the head looks again after so long at the latest */
#define PERMITS_MS 250 /* and one that waits for any of several holders */
#define BEHIND_MS 2000 /* and the others; times one's place, */
#define NEAR 16        /* but up to this place */
#define NEAR_MS 3000   /* after so long at the latest, */
#define FAR_MS 30000   /* and farther back after so long */
#define FREE_MS 2000   /* before a roll call the name is free for so long, */
#define FREE_FAR_MS 10000
#define ANSWER_MS 5000  /* which the others have so long to answer: await sees it within 3 s, */
#define REFUSED_MS 2000 /* and who was refused in T so long */
#define LATE_MS 3000    /* a visit that comes later was asleep, perhaps with all the others */
#define VISIT_MS 2000   /* how long a visit waits for T */
#define HEAD_PAUSE_MS 100
#define PAUSE_MAX_MS 3000 /* shorter than ANSWER_MS: a waiter that polls answers when it looks */
#define LATE_MOST_MS 2000 /* a look that was later was asleep: its waiter may lose its place */
#define GOOD_MS 1000 /* how much later than its next look a waiter without a session lock expires */
#define TRIP_MS 500  /* what a look at a server may take */

/* ---- the steps ---------------------------------------------------------------------------------- */

/* A waiter at place k needs k - 1 hand-overs before its own, so k steps are soon enough. */
static int64_t pause_by_place(const machine *m)
{
    return rowlock__least(STEP_MS * m->place, PAUSE_MAX_MS);
}

/* Twice, because a look writes no sign of life until half of good_ms has gone: after every look the ticket
   is good for the next pause and GOOD_MS / 2, and for as long as looks are late on a busy machine. */
static int64_t good_for(const machine *m)
{
    return GOOD_MS + 2 * (pause_by_place(m) + m->late_ms) + (m->remote ? TRIP_MS : 0);
}

static int64_t good(machine *m)
{
    m->good_ms = good_for(m);
    return m->good_ms;
}

/* How late looks are answered: the worst of late, for one that is in time halves it. */
static void measure(machine *m, int64_t now)
{
    if (m->due_ms)
        m->late_ms = rowlock__most(m->late_ms / 2, rowlock__least(now - m->due_ms, LATE_MOST_MS));
    m->due_ms = 0;
}

static void forget_roll(machine *m)
{
    m->visit_ms = m->called = 0;
    m->waited = false;
}

/* Whatever it was before, it begins anew at the queue's end. */
void rowlock__queue_forget(machine *m)
{
    m->ticket = m->waited_for = 0;
    m->locked = false;
    m->place = 1;
    forget_roll(m);
}

step rowlock__queue_enter(machine *m, int64_t now)
{
    if (rowlock__step_is_late(m, now))
        return rowlock__step_give_up(m, ROWLOCK_ETIMEDOUT);
    rowlock__queue_forget(m);
    if (m->state != QUEUE_PAUSE)
        m->pause_ms = 0;
    m->due_ms = now;
    m->queued = m->queued || m->remote; /* a file's transaction that failed has done nothing */
    m->state = QUEUING;
    return (step){.act = ROWLOCK_ACT_ENQUEUE, .good_ms = good(m)};
}

step rowlock__queue_look(machine *m, int64_t now)
{
    if (rowlock__step_is_late(m, now))
        return rowlock__step_give_up(m, ROWLOCK_ETIMEDOUT);
    m->state = LOOKING;
    return (step){.act = ROWLOCK_ACT_PLACE, .ticket = m->ticket, .good_ms = good(m)};
}

static step await(machine *m, int64_t now, bool token, int64_t number, int64_t limit)
{
    m->state = m->turns ? TURNING : AWAITING;
    m->waited_for = number;
    return (step){.act = m->turns ? ROWLOCK_ACT_TURN : ROWLOCK_ACT_AWAIT,
                  .token = token,
                  .number = number,
                  .ticket = m->ticket,
                  .limit_ms = rowlock__step_within(m, now, limit)};
}

/* Without a session lock nobody sees that we live while we stand in T's queue: not too long. */
static int64_t wait_for_t(const machine *m, int64_t now, int64_t limit)
{
    return rowlock__step_within(m, now, m->locked ? limit : rowlock__least(limit, m->good_ms / 2));
}

/* The head blocks in T with all the time it has: short tries starve behind others' locks. */
static step take(machine *m, int64_t now)
{
    m->state = TAKING;
    return (step){
        .act = ROWLOCK_ACT_GRANT, .ticket = m->ticket, .limit_ms = wait_for_t(m, now, SLICE_MS)};
}

/* A visit of a roll call. */
static step overtake(machine *m, int64_t now)
{
    m->state = OVERTAKING;
    return (step){.act = ROWLOCK_ACT_OVERTAKE,
                  .called = m->waited ? m->called : 0,
                  .ticket = m->ticket,
                  .limit_ms = wait_for_t(m, now, VISIT_MS),
                  .good_ms = good(m)};
}

/* Our ticket was taken for dead: queue again, but give its session lock back first. */
static step queue_again(machine *m, int64_t now)
{
    if (!m->locked)
        return rowlock__queue_enter(m, now);
    m->state = DROPPING;
    return (step){.act = ROWLOCK_ACT_UNMARK, .number = m->ticket, .ticket = m->ticket};
}

/* ---- their replies ------------------------------------------------------------------------------ */

step rowlock__queue_entered(machine *m, int64_t now, const reply *r)
{
    if (r->status == ROWLOCK_STATUS_LIMIT)
        return rowlock__step_give_up(m, ROWLOCK_ELIMIT);
    m->ticket = r->number;
    m->queued = true;
    m->locked = m->remote;
    return rowlock__queue_look(m, now);
}

/* First, but leased: until the holder's lock comes. If it came, and the row stands all the same, then
   its holder has no such lock, or died: look more and more seldom, until it expires. */
static step wait_for_holder(machine *m, int64_t now, const reply *r, uint32_t dice)
{
    int64_t until = r->expires_ms > 0 ? r->expires_ms : 1;

    m->held_by = r->number;
    forget_roll(m);
    if (m->unsure && !m->asked) { /* it may be ours, granted to a session that was lost */
        m->asked = true;
        return take(m, now);
    }
    if (!m->remote)
        return rowlock__step_pause(m, now, WAITING, rowlock__least(STEP_MS, until), dice);
    if (!m->locked || m->waited_for == r->number)
        return rowlock__step_pause(
            m, now, WAITING,
            rowlock__least(rowlock__step_backoff(m, STEP_MS, HEAD_PAUSE_MS), until), dice);
    m->pause_ms = 0;
    return await(m, now, true, r->number, rowlock__least(m->permits ? PERMITS_MS : HEAD_MS, until));
}

/* The name is free, and the waiters before us do not take it: is the next visit due? In a long queue that
   moves they do, though every look may find the name free. */
static bool is_due(machine *m, int64_t now, const reply *r, bool moves)
{
    if (!r->free || (moves && r->before > NEAR))
        forget_roll(m);
    else if (!m->visit_ms)
        m->visit_ms = now + (r->before > NEAR ? FREE_FAR_MS : FREE_MS);
    return m->visit_ms && now >= m->visit_ms;
}

static int64_t until_look(const machine *m, int64_t now, int64_t before)
{
    int64_t limit = before > NEAR ? FAR_MS : rowlock__least(BEHIND_MS * before, NEAR_MS);

    return m->visit_ms ? rowlock__least(limit, rowlock__most(m->visit_ms - now, 1)) : limit;
}

/* Where the queue moves, the second waiter must be awake when the first one leaves. */
static step wait_and_look(machine *m, int64_t now, bool moves, uint32_t dice)
{
    if (!m->locked && m->good_ms < good_for(m)) /* a new ticket, not good until the next look */
        return rowlock__queue_look(m, now);
    return rowlock__step_pause(m, now, WAITING, pause_by_place(m) / (moves ? 2 : 1), dice);
}

static step wait_for_ticket(machine *m, int64_t now, const reply *r, uint32_t dice)
{
    bool moves = r->before + 1 < m->place;

    m->place = r->before + 1;
    if (is_due(m, now, r, moves)) {
        if (now - m->visit_ms >= LATE_MS)
            m->called = m->waited = 0;
        return overtake(m, now);
    }
    if (!m->locked || m->waited_for == r->number)
        return wait_and_look(m, now, moves, dice);
    return await(m, now, false, r->number, until_look(m, now, r->before));
}

step rowlock__queue_looked(machine *m, int64_t now, const reply *r, uint32_t dice)
{
    m->locked = r->locked;
    measure(m, now);
    switch (r->status) {
    case ROWLOCK_STATUS_OK:
        m->place = 1;
        return rowlock__step_is_late(m, now) ? rowlock__step_give_up(m, ROWLOCK_ETIMEDOUT)
                                             : take(m, now);
    case ROWLOCK_STATUS_LEASED:
        m->place = 1;
        return wait_for_holder(m, now, r, dice);
    case ROWLOCK_STATUS_QUEUED:
        return wait_for_ticket(m, now, r, dice);
    case ROWLOCK_STATUS_UNQUEUED:
        m->locked = m->remote;
        return queue_again(m, now);
    case ROWLOCK_STATUS_LIMIT:
        return rowlock__step_give_up(m, ROWLOCK_ELIMIT);
    default:
        return rowlock__step_pause(m, now, WAITING, STEP_MS, dice);
    }
}

step rowlock__queue_took(machine *m, int64_t now, const reply *r, uint32_t dice)
{
    switch (r->status) {
    case ROWLOCK_STATUS_OK:
        return rowlock__step_granted(m, r);
    case ROWLOCK_STATUS_UNQUEUED:
        return queue_again(m, now);
    case ROWLOCK_STATUS_LIMIT:
        return rowlock__step_give_up(m, ROWLOCK_ELIMIT);
    case ROWLOCK_STATUS_LEASED:
        m->held_by = r->number;
        break;
    default:
        break;
    }
    /* it looked free, and was not: a renewal or a fence was under way, or T is busy */
    return rowlock__step_pause(m, now, WAITING, rowlock__step_backoff(m, STEP_MS, HEAD_PAUSE_MS),
                               dice);
}

/* Who stands there though his lock came is dead: only an await of its own removes him, for it is committed. */
static step remove_dead(machine *m, int64_t now, int64_t ticket)
{
    m->state = AWAITING;
    return (step){.act = ROWLOCK_ACT_AWAIT,
                  .number = ticket,
                  .ticket = m->ticket,
                  .limit_ms = rowlock__step_within(m, now, STEP_MS)};
}

step rowlock__queue_turned(machine *m, int64_t now, const reply *r)
{
    switch (r->status) {
    case ROWLOCK_STATUS_OK:
        return rowlock__step_granted(m, r);
    case ROWLOCK_STATUS_QUEUED:
        if (r->number == m->waited_for)
            return remove_dead(m, now, r->number);
        break;
    case ROWLOCK_STATUS_LEASED:
        m->waited_for = r->number;
        break;
    default:
        m->waited_for = 0;
    }
    return rowlock__queue_look(m, now);
}

step rowlock__queue_overtook(machine *m, int64_t now, const reply *r)
{
    if (!r->number) { /* T is busy, or the name is not free any more: the same visit again */
        m->visit_ms = now + FREE_MS;
    } else if (!m->called) {
        m->called = r->number;
        m->visit_ms = now + ANSWER_MS;
    } else if (!m->waited) {
        m->waited = true;
        m->visit_ms = now + REFUSED_MS;
    } else {
        forget_roll(m);
    }
    return rowlock__queue_look(m, now);
}
