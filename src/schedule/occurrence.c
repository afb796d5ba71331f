/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From wall times to points in time (UTC). A zone is a list of spans; within a span, the time is
 * the wall time minus the offset.
 *
 * If a line names wall times (neither minute nor hour begins with '*'), a wall time w is due at
 * reach(w): the first instant at which the clocks show w or later. This one rule covers gaps and
 * repeated hours, and it preserves the order of wall times.
 */
#include "util/calendar.h"
#include "schedule/schedule.h"

#define NONE INT64_MIN

static int64_t reach(const struct rowlock_zone *zone, int64_t wall)
{
    int64_t at = wall - ROWLOCK_ZONE_OFFSET_MAX; /* no clock shows `wall` before this time */

    if (at < ROWLOCK_CALENDAR_FIRST)
        at = ROWLOCK_CALENDAR_FIRST;
    while (at < ROWLOCK_CALENDAR_LAST) {
        struct rowlock_zone_span span = rowlock__zone_at(zone, at);
        int64_t shown = wall - span.offset > span.from ? wall - span.offset : span.from;

        if (shown < span.until)
            return shown;
        at = span.until;
    }
    return NONE;
}

/* The latest wall time that the clocks have shown up to `at`. */
static int64_t latest_wall(const struct rowlock_zone *zone, int64_t at)
{
    struct rowlock_zone_span span = rowlock__zone_at(zone, at);
    int64_t latest = at + span.offset;

    while (span.from > ROWLOCK_CALENDAR_FIRST && span.from > at - 2 * ROWLOCK_ZONE_OFFSET_MAX) {
        int64_t change = span.from;

        span = rowlock__zone_at(zone, change - 1);
        if (change - 1 + span.offset > latest)
            latest = change - 1 + span.offset;
    }
    return latest;
}

static int64_t next_named(const struct rowlock_schedule *schedule, int64_t after)
{
    int64_t latest = latest_wall(schedule->zone, after), minute;

    if (rowlock__cron_seek(&schedule->line, rowlock__floor_divide(latest, 60) + 1, 1, &minute) != 0)
        return NONE;
    return reach(schedule->zone, minute * 60);
}

static int64_t previous_named(const struct rowlock_schedule *schedule, int64_t at)
{
    int64_t latest = latest_wall(schedule->zone, at), minute;

    if (rowlock__cron_seek(&schedule->line, rowlock__floor_divide(latest, 60), -1, &minute) != 0)
        return NONE;
    return reach(schedule->zone, minute * 60);
}

static int64_t next_shown(const struct rowlock_schedule *schedule, int64_t after)
{
    for (int64_t at = after + 1; at < ROWLOCK_CALENDAR_LAST;) {
        struct rowlock_zone_span span = rowlock__zone_at(schedule->zone, at);
        int64_t minute = rowlock__floor_divide(at + span.offset + 59, 60);

        if (rowlock__cron_seek(&schedule->line, minute, 1, &minute) != 0)
            return NONE;
        if (minute * 60 - span.offset < span.until)
            return minute * 60 - span.offset;
        at = span.until;
    }
    return NONE;
}

static int64_t previous_shown(const struct rowlock_schedule *schedule, int64_t at)
{
    while (at >= ROWLOCK_CALENDAR_FIRST) {
        struct rowlock_zone_span span = rowlock__zone_at(schedule->zone, at);
        int64_t minute = rowlock__floor_divide(at + span.offset, 60);

        if (rowlock__cron_seek(&schedule->line, minute, -1, &minute) != 0)
            return NONE;
        if (minute * 60 - span.offset >= span.from)
            return minute * 60 - span.offset;
        at = span.from - 1;
    }
    return NONE;
}

static int is_shown(const struct rowlock_cron *line)
{
    return line->starred[ROWLOCK_MINUTE] || line->starred[ROWLOCK_HOUR];
}

/* At the edge of the calendar the previous time is unknown. */
static int64_t milliseconds(int64_t seconds)
{
    if (seconds <= ROWLOCK_CALENDAR_FIRST || seconds >= ROWLOCK_CALENDAR_LAST)
        return ROWLOCK_NEVER;
    return seconds * 1000;
}

int64_t rowlock__schedule_next(const struct rowlock_schedule *schedule, int64_t after_ms)
{
    int64_t period = schedule->period_ms, after;

    if (period > 0) {
        int64_t n = rowlock__floor_divide(after_ms, period) + 1;

        return n > INT64_MAX / period ? ROWLOCK_NEVER : n * period;
    }
    after = rowlock__floor_divide(after_ms, 1000);
    if (after < ROWLOCK_CALENDAR_FIRST)
        after = ROWLOCK_CALENDAR_FIRST;
    if (after >= ROWLOCK_CALENDAR_LAST)
        return ROWLOCK_NEVER;
    return milliseconds(is_shown(&schedule->line) ? next_shown(schedule, after)
                                                  : next_named(schedule, after));
}

int64_t rowlock__schedule_previous(const struct rowlock_schedule *schedule, int64_t at_ms)
{
    int64_t period = schedule->period_ms, at;

    if (period > 0) {
        int64_t n = rowlock__floor_divide(at_ms, period);

        return n < INT64_MIN / period ? ROWLOCK_NEVER : n * period;
    }
    at = rowlock__floor_divide(at_ms, 1000);
    if (at >= ROWLOCK_CALENDAR_LAST)
        at = ROWLOCK_CALENDAR_LAST - 1;
    if (at < ROWLOCK_CALENDAR_FIRST)
        return ROWLOCK_NEVER;
    return milliseconds(is_shown(&schedule->line) ? previous_shown(schedule, at)
                                                  : previous_named(schedule, at));
}
