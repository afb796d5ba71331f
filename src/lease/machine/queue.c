/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The acquire machine: a queued waiter, from the ticket to the grant, and past frozen waiters.
 *
 * A waiter that finds the name free for some time calls the roll. It takes the name lock, the
 * engine's own lock on the name, in three visits. The first visit marks every ticket before its
 * own; a live waiter answers by its next look. The second only gets the name lock: a waiter that is
 * waiting for that lock cannot answer, and looks after it was refused. The third removes the
 * tickets that did not answer.
 */
#include "lease/machine/state.h"
#include "util/clock.h"

#define SLICE_MS 60000 /* one wait for the name lock: a waiting statement holds back vacuum */
#define HEAD_MS 1000   /* maximum interval between the looks of the head of the queue */
#define PERMITS_MS 250 /* the same for a head that waits for any of several holders */
#define BEHIND_MS 2000 /* the same for other waiters, times their queue position, */
#define NEAR 16        /* up to this position */
#define NEAR_MS 3000   /* but at most this, */
#define FAR_MS 30000   /* and this for positions behind it */
#define FREE_MS 2000   /* how long the name must be free before a roll call */
#define FREE_FAR_MS 10000
#define ANSWER_MS 5000  /* time for the others to answer: await notices the call within 3 s, */
#define REFUSED_MS 2000 /* time for waiters that were refused the name lock */
#define LATE_MS 3000    /* a later visit was suspended, perhaps together with all the others */
#define VISIT_MS 2000   /* how long a visit waits for the name lock */
#define HEAD_PAUSE_MS 100
#define PAUSE_MAX_MS 3000 /* shorter than ANSWER_MS: a polling waiter answers when it looks */
#define LATE_MOST_MS 2000 /* a waiter whose look was later was suspended, and may lose its place */
#define GOOD_MS \
    1000 /* a waiter without a session lock expires this long after its next look is due */
#define TRIP_MS 500 /* maximum duration of a look at a server */

/* ---- the steps ------------------------------------------------------------------------------- */

/* A waiter at place k needs k - 1 hand-overs before its own, so pauses of k steps
   are short enough. */
static int64_t pause_by_place(const machine *m)
{
    return rowlock__least(STEP_MS * m->ticket.place, PAUSE_MAX_MS);
}

/* Twice, because a look writes no sign of life before half of good_ms has passed: after every look
   the ticket is good for the next pause and GOOD_MS / 2, plus the lateness of looks on a busy
   machine. */
static int64_t good_for(const machine *m)
{
    return GOOD_MS + 2 * (pause_by_place(m) + m->pace.late_ms) + (m->in.remote ? TRIP_MS : 0);
}

static int64_t good(machine *m)
{
    m->ticket.good_ms = good_for(m);
    return m->ticket.good_ms;
}

static void forget_roll(machine *m)
{
    m->roll.visit_ms = m->roll.called = 0;
    m->roll.waited = false;
}

/* Starts over at the end of the queue. */
void rowlock__queue_forget(machine *m)
{
    m->ticket.number = m->waited_for = 0;
    m->ticket.locked = false;
    m->ticket.place = 1;
    forget_roll(m);
}

step rowlock__queue_enter(machine *m, int64_t now)
{
    if (rowlock__step_is_late(m, now))
        return rowlock__step_give_up(m, ROWLOCK_ETIMEDOUT);
    rowlock__queue_forget(m);
    if (m->state != QUEUE_PAUSE)
        m->pace.pause_ms = 0;
    m->pace.due_ms = now;
    m->ticket.queued =
        m->ticket.queued || m->in.remote; /* a failed transaction on a file has changed nothing */
    m->state = QUEUING;
    return (step){.act = ROWLOCK_ACT_ENQUEUE, .good_ms = good(m)};
}

step rowlock__queue_look(machine *m, int64_t now)
{
    if (rowlock__step_is_late(m, now))
        return rowlock__step_give_up(m, ROWLOCK_ETIMEDOUT);
    m->state = LOOKING;
    return (step){.act = ROWLOCK_ACT_PLACE, .ticket = m->ticket.number, .good_ms = good(m)};
}

static step await(machine *m, int64_t now, bool token, int64_t number, int64_t limit)
{
    m->state = m->in.turns ? TURNING : AWAITING;
    m->waited_for = number;
    return (step){.act = m->in.turns ? ROWLOCK_ACT_TURN : ROWLOCK_ACT_AWAIT,
                  .token = token,
                  .number = number,
                  .ticket = m->ticket.number,
                  .limit_ms = rowlock__step_within(m, now, limit)};
}

/* Without a session lock, a waiter for the name lock gives no sign of life, so the
   wait is short. */
static int64_t name_lock_limit(const machine *m, int64_t now, int64_t limit)
{
    return rowlock__step_within(
        m, now, m->ticket.locked ? limit : rowlock__least(limit, m->ticket.good_ms / 2));
}

/* The head waits for the name lock with all its time: short tries starve behind others' locks. */
static step take(machine *m, int64_t now)
{
    m->state = TAKING;
    return (step){.act = ROWLOCK_ACT_GRANT,
                  .ticket = m->ticket.number,
                  .limit_ms = name_lock_limit(m, now, SLICE_MS)};
}

/* Our ticket was removed as dead: queue again, but release its session lock first. */
static step queue_again(machine *m, int64_t now)
{
    if (!m->ticket.locked)
        return rowlock__queue_enter(m, now);
    m->state = DROPPING;
    return (step){
        .act = ROWLOCK_ACT_SESSION_UNLOCK, .number = m->ticket.number, .ticket = m->ticket.number};
}

/* ---- the replies ----------------------------------------------------------------------------- */

step rowlock__queue_entered(machine *m, int64_t now, const reply *r)
{
    if (r->status == ROWLOCK_STATUS_LIMIT)
        return rowlock__step_give_up(m, ROWLOCK_ELIMIT);
    m->ticket.number = r->number;
    m->ticket.queued = true;
    m->ticket.locked = m->in.remote;
    return rowlock__queue_look(m, now);
}

/* First, but leased: wait for the holder's session lock. If it is free although the row exists, the
   holder has no such lock, or died: look with growing pauses until the lease expires. */
static step wait_for_holder(machine *m, int64_t now, const reply *r, uint32_t dice)
{
    int64_t until = r->expires_ms > 0 ? r->expires_ms : 1;

    m->held_by = r->number;
    forget_roll(m);
    if (m->unsure && !m->asked) { /* it may be ours, granted to a session that was lost */
        m->asked = true;
        return take(m, now);
    }
    if (!m->in.remote)
        return rowlock__step_pause(m, now, WAITING, rowlock__least(STEP_MS, until), dice);
    if (!m->ticket.locked || m->waited_for == r->number)
        return rowlock__step_pause(
            m, now, WAITING,
            rowlock__least(rowlock__step_backoff(m, STEP_MS, HEAD_PAUSE_MS), until), dice);
    m->pace.pause_ms = 0;
    return await(m, now, true, r->number,
                 rowlock__least(m->in.permits ? PERMITS_MS : HEAD_MS, until));
}

/* Not first: wait for the ticket before ours. A roll call begins if the name is free, and the
   waiters before us do not take it. In a long queue that moves it does not, though every look may
   find the name free. */
static step wait_for_ticket(machine *m, int64_t now, const reply *r, uint32_t dice)
{
    bool moves = r->before + 1 < m->ticket.place;
    int64_t limit;

    m->ticket.place = r->before + 1;
    if (!r->free || (moves && r->before > NEAR))
        forget_roll(m);
    else if (!m->roll.visit_ms)
        m->roll.visit_ms = now + (r->before > NEAR ? FREE_FAR_MS : FREE_MS);
    if (m->roll.visit_ms && now >= m->roll.visit_ms) { /* the next visit of the roll call is due */
        if (now - m->roll.visit_ms >= LATE_MS)
            m->roll.called = m->roll.waited = 0;
        m->state = OVERTAKING;
        return (step){.act = ROWLOCK_ACT_OVERTAKE,
                      .called = m->roll.waited ? m->roll.called : 0,
                      .ticket = m->ticket.number,
                      .limit_ms = name_lock_limit(m, now, VISIT_MS),
                      .good_ms = good(m)};
    }
    if (m->ticket.locked && m->waited_for != r->number) {
        limit = r->before > NEAR ? FAR_MS : rowlock__least(BEHIND_MS * r->before, NEAR_MS);
        if (m->roll.visit_ms)
            limit = rowlock__least(limit, rowlock__most(m->roll.visit_ms - now, 1));
        return await(m, now, false, r->number, limit);
    }
    if (!m->ticket.locked && m->ticket.good_ms < good_for(m))
        return rowlock__queue_look(m, now); /* a new ticket, not good until the next look */
    /* in a moving queue, the second waiter must be awake when the first one leaves */
    return rowlock__step_pause(m, now, WAITING, pause_by_place(m) / (moves ? 2 : 1), dice);
}

step rowlock__queue_looked(machine *m, int64_t now, const reply *r, uint32_t dice)
{
    m->ticket.locked = r->locked;
    /* Measures how late looks are answered: keeps the maximum, and halves it after each one in
       time. */
    if (m->pace.due_ms)
        m->pace.late_ms =
            rowlock__most(m->pace.late_ms / 2, rowlock__least(now - m->pace.due_ms, LATE_MOST_MS));
    m->pace.due_ms = 0;
    switch (r->status) {
    case ROWLOCK_STATUS_OK:
        m->ticket.place = 1;
        if (rowlock__step_is_late(m, now))
            return rowlock__step_give_up(m, ROWLOCK_ETIMEDOUT);
        /* one try, which the server commits by itself, then waiting grants: a head that only tried
           would starve */
        m->seized = m->in.seizes && m->ticket.locked && !m->seized;
        if (!m->seized)
            return take(m, now);
        m->state = SEIZING;
        return (step){.act = ROWLOCK_ACT_GRANT, .ticket = m->ticket.number};
    case ROWLOCK_STATUS_LEASED:
        m->ticket.place = 1;
        return wait_for_holder(m, now, r, dice);
    case ROWLOCK_STATUS_QUEUED:
        return wait_for_ticket(m, now, r, dice);
    case ROWLOCK_STATUS_UNQUEUED:
        m->ticket.locked = m->in.remote;
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
    /* it looked free, but was not: a renewal or a fence was under way, or the name lock was held */
    return rowlock__step_pause(m, now, WAITING, rowlock__step_backoff(m, STEP_MS, HEAD_PAUSE_MS),
                               dice);
}

/* The holder has released: a look would find the name free. */
step rowlock__queue_awaited(machine *m, int64_t now, const reply *r)
{
    bool came = r->number == 1 || r->number == 2; /* 2: after a ticket the lease ended too */
    bool first = r->number == 2 || (m->ticket.place == 1 && m->waited_for == m->held_by);

    if (!came)
        m->waited_for = 0;
    if (!came || !first || !m->in.seizes || !m->ticket.locked || rowlock__step_is_late(m, now))
        return rowlock__queue_look(m, now);
    m->state = SEIZING;
    m->seized = true;
    return (step){.act = ROWLOCK_ACT_GRANT, .ticket = m->ticket.number};
}

step rowlock__queue_turned(machine *m, int64_t now, const reply *r)
{
    switch (r->status) {
    case ROWLOCK_STATUS_OK:
        return rowlock__step_granted(m, r);
    case ROWLOCK_STATUS_QUEUED:
        if (r->number != m->waited_for)
            break;
        /* A ticket whose session lock was free is dead. Only a separate await removes it, because
           that commits. */
        m->state = AWAITING;
        return (step){.act = ROWLOCK_ACT_AWAIT,
                      .number = r->number,
                      .ticket = m->ticket.number,
                      .limit_ms = rowlock__step_within(m, now, STEP_MS)};
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
    if (!r->number) { /* the name lock is held, or a lease conflicts again: repeat the same visit */
        m->roll.visit_ms = now + FREE_MS;
    } else if (!m->roll.called) {
        m->roll.called = r->number;
        m->roll.visit_ms = now + ANSWER_MS;
    } else if (!m->roll.waited) {
        m->roll.waited = true;
        m->roll.visit_ms = now + REFUSED_MS;
    } else {
        forget_roll(m);
    }
    return rowlock__queue_look(m, now);
}
