/* SPDX-License-Identifier: Apache-2.0 */
/* What acquire_machine.c and acquire_queue.c share, and nobody else: the states, each named after the
   step whose reply is awaited, and the ends of the story. */
#ifndef ROWLOCK_ACQUIRE_STATE_H
#define ROWLOCK_ACQUIRE_STATE_H

#include "lease/machine.h"
#include "rowlock.h"
#include "util/clock.h"

#define STEP_MS 10 /* polling: the head, and times one's place the others */

enum state {
    TRYING,      /* GRANT without a ticket */
    PROBING,     /* AWAIT of a ticket in a try's way: is it dead? */
    TRY_PAUSE,   /* PAUSE before GRANT */
    QUEUING,     /* ENQUEUE */
    QUEUE_PAUSE, /* PAUSE before ENQUEUE */
    LOOKING,     /* PLACE */
    AWAITING,    /* AWAIT before PLACE */
    TURNING,     /* TURN */
    WAITING,     /* PAUSE before PLACE */
    TAKING,      /* GRANT with our ticket */
    OVERTAKING,  /* OVERTAKE */
    DROPPING,    /* UNMARK of a ticket that others removed, before ENQUEUE */
    CONNECTING,  /* RECONNECT */
    CONNECT_PAUSE,
    WITHDRAWING, /* WITHDRAW */
    LEAVING,     /* UNMARK: the last step */
    ENDED
};

typedef struct rowlock_acquire_machine machine;
typedef struct rowlock_step step;
typedef struct rowlock_reply reply;

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline bool is_over(const machine *m, int64_t now)
{
    return !m->tries && now >= m->deadline_ms;
}

/* No wait goes beyond the deadline, and none is nothing: that would be a try. */
static inline int64_t within(const machine *m, int64_t now, int64_t limit)
{
    if (!m->tries && m->deadline_ms != ROWLOCK_NEVER)
        limit = least(limit, m->deadline_ms - now);
    return most(limit, 1);
}

/* Two that were woken together must not meet again and again: half of it is drawn by lot. */
static inline step pause(machine *m, int64_t now, int state, int64_t ms, uint32_t dice)
{
    m->state = state;
    ms = within(m, now, ms - (int64_t)(dice % (uint32_t)(ms / 2 + 1)));
    m->due_ms = now + ms;
    return (step){.act = ROWLOCK_ACT_PAUSE, .limit_ms = ms};
}

static inline int64_t grow(machine *m, int64_t first, int64_t limit)
{
    m->pause_ms = m->pause_ms < first ? first : least(2 * m->pause_ms, limit);
    return m->pause_ms;
}

static inline step finish(machine *m, int code)
{
    m->state = ENDED;
    m->code = code;
    return (step){.act = ROWLOCK_ACT_DONE};
}

/* The session lock goes after the COMMIT that removed the ticket's row, never before: who waits
   for it would find the row, and take the ticket for dead. */
static inline step leave(machine *m, int code)
{
    m->result = code;
    if (!m->locked || !m->ticket)
        return finish(m, code);
    m->state = LEAVING;
    return (step){.act = ROWLOCK_ACT_UNMARK, .number = m->ticket, .ticket = m->ticket};
}

static inline step give_up(machine *m, int code)
{
    m->result = code;
    if (!m->queued)
        return finish(m, code);
    m->state = WITHDRAWING;
    return (step){.act = ROWLOCK_ACT_WITHDRAW, .ticket = m->ticket};
}

static inline step granted(machine *m, const reply *r)
{
    m->token = r->token ? r->token : r->number;
    m->unsure = false;
    m->locked = m->locked && !r->unmarked;
    return leave(m, ROWLOCK_OK);
}

/* ---- acquire_queue.c ---------------------------------------------------------------------------- */

void rowlock__queue_forget(machine *m);
step rowlock__queue_enter(machine *m, int64_t now);
step rowlock__queue_look(machine *m, int64_t now);
step rowlock__queue_entered(machine *m, int64_t now, const reply *r);
step rowlock__queue_looked(machine *m, int64_t now, const reply *r, uint32_t dice);
step rowlock__queue_turned(machine *m, int64_t now, const reply *r);
step rowlock__queue_took(machine *m, int64_t now, const reply *r, uint32_t dice);
step rowlock__queue_overtook(machine *m, int64_t now, const reply *r);

#endif
