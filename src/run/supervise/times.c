/* SPDX-License-Identifier: Apache-2.0 */
/* Divides the time of a lease between renewals, the end of the command by TERM, and KILL. */
#include "run/supervise/run_options.h"
#include "run/supervise/times.h"
#include "util/clock.h"

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

/* Reads the clock before the remaining time: if we are stopped between the two, the result is too
   early, never too late. */
int64_t end_of_lease(const struct rowlock_lease *lease)
{
    int64_t now = rowlock__now_ms();

    return lease ? now + rowlock_remaining(lease) : ROWLOCK_NEVER;
}

int64_t margin_for_kill(int64_t ttl_ms)
{
    int64_t part = ttl_ms / 10;

    return part < MARGIN_LEAST_MS ? MARGIN_LEAST_MS : part > MARGIN_MOST_MS ? MARGIN_MOST_MS : part;
}

int64_t statement_limit(const struct run *run)
{
    int64_t limit = run->lock.ttl_ms / 6;

    if (run->transaction || limit > STATEMENT_MOST_MS)
        return STATEMENT_MOST_MS;
    return limit < STATEMENT_LEAST_MS ? STATEMENT_LEAST_MS : limit;
}
