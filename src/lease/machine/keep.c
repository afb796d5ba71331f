/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keep machine: renews a lease every third of its ttl. Replaces a lost session, with a growing
 * backoff, until the holder's own deadline. That counts from before the last successful renewal was
 * sent, so it passes before the database's.
 */
#include "lease/machine/machine.h"
#include "rowlock.h"
#include "util/clock.h"

#define PAUSE_MS 50 /* after a failed renewal; doubled each time */
#define PAUSE_MAX_MS 1000

enum state { SLEEPING, RENEWING, RESTING, CONNECTING, LOST };

typedef struct rowlock_keep_machine machine;
typedef struct rowlock_keep_step step;

static step lose(machine *m, int code)
{
    m->state = LOST;
    m->code = code;
    return (step){ROWLOCK_KEEP_LOST, 0};
}

static step sleep_until(machine *m, int state, int64_t until)
{
    m->state = state;
    return (step){ROWLOCK_KEEP_SLEEP, rowlock__least(until, m->end_ms)};
}

/* A step that asks the database: limited by statement_ms and by the lease's end. */
static step ask(machine *m, int64_t now, int state)
{
    bool renews = state == RENEWING;

    if (now >= m->end_ms)
        return lose(m, ROWLOCK_ECONN);
    m->state = state;
    if (renews)
        m->sent_ms = now;
    return (step){renews ? ROWLOCK_KEEP_RENEW : ROWLOCK_KEEP_RECONNECT,
                  rowlock__least(rowlock__after(now, m->statement_ms), m->end_ms)};
}

static step renewed(machine *m, int64_t now)
{
    int64_t end = rowlock__after(m->sent_ms, m->ttl_ms);

    if (end > m->end_ms)
        m->end_ms = end;
    m->next_ms = m->sent_ms + m->ttl_ms / 3;
    m->pause_ms = 0;
    return now >= m->next_ms ? ask(m, now, RENEWING) : sleep_until(m, SLEEPING, m->next_ms);
}

static step rest(machine *m, int64_t now, int state, uint32_t dice)
{
    int64_t longest = rowlock__least(PAUSE_MAX_MS, m->ttl_ms / 10 + 1), pause;

    if (now >= m->end_ms)
        return lose(m, ROWLOCK_ECONN);
    m->pause_ms = rowlock__least(m->pause_ms ? 2 * m->pause_ms : PAUSE_MS, longest);
    pause = m->pause_ms - (int64_t)(dice % (uint32_t)(m->pause_ms / 2 + 1));
    return sleep_until(m, state, now + pause);
}

static step after_renewal(machine *m, int64_t now, int code, enum rowlock_status status,
                          uint32_t dice)
{
    if (!code && status == ROWLOCK_STATUS_OK)
        return renewed(m, now);
    if (!code || code == ROWLOCK_ELOST)
        return lose(m, ROWLOCK_ELOST);
    return rest(m, now, code == ROWLOCK_ECONN || code == ROWLOCK_EUNKNOWN ? RESTING : SLEEPING,
                dice);
}

step rowlock__keep_start(machine *m, int64_t granted_ms, int64_t now_ms)
{
    m->sent_ms = granted_ms;
    m->end_ms = rowlock__after(granted_ms, m->ttl_ms);
    m->next_ms = granted_ms + m->ttl_ms / 3;
    m->pause_ms = 0;
    return now_ms - granted_ms > m->ttl_ms / 10 ? ask(m, now_ms, RENEWING)
                                                : sleep_until(m, SLEEPING, m->next_ms);
}

step rowlock__keep_next(machine *m, int64_t now_ms, int code, enum rowlock_status status,
                        uint32_t dice)
{
    switch (m->state) {
    case SLEEPING:
        return ask(m, now_ms, RENEWING);
    case RENEWING:
        return after_renewal(m, now_ms, code, status, dice);
    case RESTING:
        return ask(m, now_ms, CONNECTING);
    case CONNECTING:
        return code ? rest(m, now_ms, RESTING, dice) : ask(m, now_ms, RENEWING);
    default: /* the loss was reported already */
        return (step){ROWLOCK_KEEP_SLEEP, ROWLOCK_NEVER};
    }
}
