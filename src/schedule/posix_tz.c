/* SPDX-License-Identifier: Apache-2.0 */
/* Computes offsets from a POSIX TZ rule such as "CET-1CEST,M3.5.0,M10.5.0/3". */
#include "schedule/posix_tz.h"

#include "util/calendar.h"

static int64_t first_of(int year, int month)
{
    return rowlock__days((struct rowlock_date){.year = year, .month = month, .day = 1});
}

/* The `week`-th such weekday of the month; 5 means the last, whether there are five or four. */
static int64_t weekday_of(int year, const struct rowlock_tz_day *rule)
{
    int64_t first = first_of(year, rule->month);
    int day = (rule->day - rowlock__weekday(first) + 7) % 7 + 7 * (rule->week - 1);

    return first + (day < rowlock__month_length(year, rule->month) ? day : day - 7);
}

static int64_t day_of(int year, const struct rowlock_tz_day *rule)
{
    if (rule->kind == 'M')
        return weekday_of(year, rule);
    if (rule->kind == 'n')
        return first_of(year, 1) + rule->day;
    return first_of(year, 1) + rule->day - 1 +
           (rule->day > 59 && rowlock__month_length(year, 2) == 29);
}

/* When daylight time starts or ends. The rule gives that time by the clock before the change. */
static int64_t change(const struct rowlock_posix_tz *rule, int year, int starts)
{
    const struct rowlock_tz_day *day = starts ? &rule->start : &rule->end;

    return day_of(year, day) * ROWLOCK_DAY_SECONDS + day->seconds -
           (starts ? rule->standard : rule->daylight);
}

/*
 * Rules may reach a week beyond their year, so the changes of the neighbouring years are
 * considered. If the end of one year's daylight time is the start of the next, daylight time never
 * ends.
 */
struct rowlock_zone_span rowlock__posix_tz_at(const struct rowlock_posix_tz *rule, int64_t at)
{
    struct rowlock_zone_span span = {INT64_MIN, INT64_MAX, rule->standard};
    int year = rowlock__date(rowlock__floor_divide(at, ROWLOCK_DAY_SECONDS)).year;

    for (int i = 0; rule->changes && i < 10; i++) {
        int starts = i % 2;
        int64_t time = change(rule, year - 2 + i / 2, starts);

        if (time > at) {
            span.until = time < span.until ? time : span.until;
        } else if (time > span.from || (time == span.from && starts)) {
            span.from = time;
            span.offset = starts ? rule->daylight : rule->standard;
        }
    }
    return span;
}
