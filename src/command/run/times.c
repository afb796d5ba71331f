/* SPDX-License-Identifier: Apache-2.0 */
/* Divides the time of a lease between renewals, the end of the command by TERM, and KILL. */
#include "command/run/run.h"

#define KILL_AFTER_MS 5000
#define MARGIN_LEAST_MS 100
#define MARGIN_MOST_MS 1000
#define STATEMENT_LEAST_MS 1000
#define STATEMENT_MOST_MS 10000

int64_t kill_after_of(int64_t said_ms, int64_t ttl_ms)
{
    int64_t wanted = said_ms < 0 ? KILL_AFTER_MS : said_ms;

    return ttl_ms > 0 && wanted > ttl_ms / 4 ? ttl_ms / 4 : wanted;
}

int64_t margin_for_kill(int64_t ttl_ms)
{
    int64_t part = ttl_ms / 10;

    return part < MARGIN_LEAST_MS ? MARGIN_LEAST_MS : part > MARGIN_MOST_MS ? MARGIN_MOST_MS : part;
}

int64_t renewal_due_in(int64_t ttl_ms, int64_t left_ms)
{
    int64_t period = ttl_ms / 3, wait = left_ms - (ttl_ms - period);

    return wait < 0 ? 0 : wait < period ? wait : period;
}

int64_t statement_limit(const struct run *run)
{
    int64_t limit = run->lock.ttl_ms / 6;

    if (run->transaction || limit > STATEMENT_MOST_MS)
        return STATEMENT_MOST_MS;
    return limit < STATEMENT_LEAST_MS ? STATEMENT_LEAST_MS : limit;
}
