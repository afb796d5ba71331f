/* SPDX-License-Identifier: Apache-2.0 */
/* When a lease is renewed. */
#include "util/renewal.h"

#include "rowlock.h"
#include "util/clock.h"

#define PAUSE_MS 50 /* after a failed renewal; doubled each time */
#define PAUSE_MAX_MS 1000

enum state { SLEEPING, SENDING, LOST };

typedef struct rowlock_renewal renewal;
typedef struct rowlock_renewal_step step;

static step lose(renewal *r, int code)
{
    r->state = LOST;
    r->code = code;
    return (step){ROWLOCK_RENEWAL_LOST, 0};
}

static step sleep_until(renewal *r, int64_t end, int64_t until)
{
    r->state = SLEEPING;
    return (step){ROWLOCK_RENEWAL_SLEEP, rowlock__least(until, end)};
}

step rowlock__renewal_now(renewal *r, int64_t now, int64_t end)
{
    if (now >= end)
        return lose(r, ROWLOCK_ECONN);
    r->state = SENDING;
    r->sent_ms = now;
    return (step){ROWLOCK_RENEWAL_SEND, 0};
}

static step renewed(renewal *r, int64_t now, int64_t end)
{
    int64_t next = r->sent_ms + r->ttl_ms / 3;

    r->pause_ms = 0;
    return now >= next ? rowlock__renewal_now(r, now, end) : sleep_until(r, end, next);
}

bool rowlock__is_late_grant(int64_t ttl_ms, int64_t sent_ms, int64_t now_ms)
{
    return now_ms - sent_ms > ttl_ms / 10;
}

step rowlock__renewal_start(renewal *r, int64_t now, int64_t end)
{
    r->sent_ms = rowlock__least(end - r->ttl_ms, now); /* as if granted then */
    return rowlock__is_late_grant(r->ttl_ms, r->sent_ms, now) ? rowlock__renewal_now(r, now, end)
                                                              : renewed(r, now, end);
}

step rowlock__renewal_next(renewal *r, int64_t now, int64_t end, int code, uint32_t dice)
{
    int64_t longest = rowlock__least(PAUSE_MAX_MS, r->ttl_ms / 10 + 1), pause;

    if (r->state == LOST) /* it was reported already */
        return (step){ROWLOCK_RENEWAL_SLEEP, ROWLOCK_NEVER};
    if (r->state == SLEEPING)
        return rowlock__renewal_now(r, now, end);
    if (!code)
        return renewed(r, now, end);
    if (code == ROWLOCK_ELOST || now >= end)
        return lose(r, code == ROWLOCK_ELOST ? code : ROWLOCK_ECONN);
    r->pause_ms = rowlock__least(r->pause_ms ? 2 * r->pause_ms : PAUSE_MS, longest);
    pause = r->pause_ms - (int64_t)(dice % (uint32_t)(r->pause_ms / 2 + 1));
    return sleep_until(r, end, now + pause);
}
