/* SPDX-License-Identifier: Apache-2.0 */
/* Time zones in memory: the UTC offset at a given time. */
#include "schedule/zone.h"

#include <stdlib.h>

#include "util/calendar.h"
#include "schedule/tzif.h"

void rowlock__zone_close(struct rowlock_zone *zone)
{
    free(zone);
}

const char *rowlock__zone_name(const struct rowlock_zone *zone)
{
    return zone ? zone->name : "UTC";
}

/* The number of changes at or before `at`. */
static size_t changes_until(const struct rowlock_zone *zone, int64_t at)
{
    size_t low = 0, high = zone->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (zone->change[middle].at <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t within_calendar(int64_t at)
{
    if (at < ROWLOCK_CALENDAR_FIRST)
        return ROWLOCK_CALENDAR_FIRST;
    return at > ROWLOCK_CALENDAR_LAST ? ROWLOCK_CALENDAR_LAST : at;
}

struct rowlock_zone_span rowlock__zone_at(const struct rowlock_zone *zone, int64_t at)
{
    struct rowlock_zone_span span = {INT64_MIN, INT64_MAX, 0};
    size_t n;

    if (zone) {
        n = changes_until(zone, at);
        if (n == zone->n && zone->ruled)
            span = rowlock__posix_tz_at(&zone->rule, at);
        else
            span.offset = n > 0 ? zone->change[n - 1].offset : zone->offset_before;
        if (n > 0 && zone->change[n - 1].at > span.from)
            span.from = zone->change[n - 1].at;
        if (n < zone->n)
            span.until = zone->change[n].at;
    }
    span.from = within_calendar(span.from);
    span.until = within_calendar(span.until);
    return span;
}
