/* SPDX-License-Identifier: Apache-2.0 */
/* The steps that a try and a queued waiter share: a pause, and the ways to end. */
#include "lease/machine/state.h"
#include "util/clock.h"

bool rowlock__step_is_late(const machine *m, int64_t now)
{
    return !m->in.tries && now >= m->in.deadline_ms;
}

/* No wait exceeds the deadline, and none is 0: that would be a try. */
int64_t rowlock__step_within(const machine *m, int64_t now, int64_t limit)
{
    if (!m->in.tries && m->in.deadline_ms != ROWLOCK_NEVER)
        limit = rowlock__least(limit, m->in.deadline_ms - now);
    return rowlock__most(limit, 1);
}

/* Half of the pause is random: waiters that woke together would otherwise collide every time. */
step rowlock__step_pause(machine *m, int64_t now, int state, int64_t ms, uint32_t dice)
{
    m->state = state;
    ms = rowlock__step_within(m, now, ms - (int64_t)(dice % (uint32_t)(ms / 2 + 1)));
    m->pace.due_ms = now + ms;
    return (step){.act = ROWLOCK_ACT_PAUSE, .limit_ms = ms};
}

int64_t rowlock__step_backoff(machine *m, int64_t first, int64_t limit)
{
    m->pace.pause_ms =
        m->pace.pause_ms < first ? first : rowlock__least(2 * m->pace.pause_ms, limit);
    return m->pace.pause_ms;
}

step rowlock__step_finish(machine *m, int code)
{
    m->state = ENDED;
    m->code = code;
    return (step){.act = ROWLOCK_ACT_DONE};
}

/* The session lock is released after the COMMIT that removed the ticket's row. Before it, a waiter
   for that lock would find the row, and consider the ticket dead. */
step rowlock__step_leave(machine *m, int code)
{
    m->code = code;
    if (!m->ticket.locked || !m->ticket.number)
        return rowlock__step_finish(m, code);
    m->state = LEAVING;
    return (step){
        .act = ROWLOCK_ACT_SESSION_UNLOCK, .number = m->ticket.number, .ticket = m->ticket.number};
}

step rowlock__step_give_up(machine *m, int code)
{
    m->code = code;
    if (!m->ticket.queued)
        return rowlock__step_finish(m, code);
    m->state = WITHDRAWING;
    return (step){.act = ROWLOCK_ACT_WITHDRAW, .ticket = m->ticket.number};
}

step rowlock__step_granted(machine *m, const reply *r)
{
    m->token = r->token ? r->token : r->number;
    m->unsure = false;
    m->ticket.locked = m->ticket.locked && !r->session_unlocked;
    return rowlock__step_leave(m, ROWLOCK_OK);
}
