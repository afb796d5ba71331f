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

static int64_t seek_shown(const struct rowlock_schedule *schedule, int64_t at, int step)
{
    at += step > 0;
    while (at >= ROWLOCK_CALENDAR_FIRST && at < ROWLOCK_CALENDAR_LAST) {
        struct rowlock_zone_span span = rowlock__zone_at(schedule->zone, at);
        int64_t minute = rowlock__floor_divide(at + span.offset + (step > 0 ? 59 : 0), 60), due;

        if (rowlock__cron_seek(&schedule->line, minute, step, &minute) != 0)
            return NONE;
        due = minute * 60 - span.offset;
        if (step > 0 ? due < span.until : due >= span.from)
            return due;
        at = step > 0 ? span.until : span.from - 1;
    }
    return NONE;
}

/* step 1: the next time after `at`; -1: the latest up to `at`. */
static int64_t seek(const struct rowlock_schedule *schedule, int64_t at, int step)
{
    const struct rowlock_cron *line = &schedule->line;
    int64_t due = NONE, minute;

    if (line->starred[ROWLOCK_MINUTE] || line->starred[ROWLOCK_HOUR]) {
        due = seek_shown(schedule, at, step);
    } else {
        minute = rowlock__floor_divide(latest_wall(schedule->zone, at), 60) + (step > 0);
        if (rowlock__cron_seek(line, minute, step, &minute) == 0)
            due = reach(schedule->zone, minute * 60);
    }
    /* at the edge of the calendar the previous time is unknown */
    return due <= ROWLOCK_CALENDAR_FIRST || due >= ROWLOCK_CALENDAR_LAST ? ROWLOCK_NEVER
                                                                         : due * 1000;
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
    return seek(schedule, after, 1);
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
    return seek(schedule, at, -1);
}
