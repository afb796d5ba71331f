/* SPDX-License-Identifier: Apache-2.0 */
/* Computes offsets from a POSIX TZ rule such as "CET-1CEST,M3.5.0,M10.5.0/3". */
#include "schedule/zone.h"

#include <ctype.h>
#include <stddef.h>

#include "util/calendar.h"

static int64_t first_of(int year, int month)
{
    return rowlock__days((struct rowlock_date){.year = year, .month = month, .day = 1});
}

static int64_t day_of(int year, const struct rowlock_tz_day *rule)
{
    if (rule->kind == 'M') {
        /* The `week`-th such weekday of the month; 5 means the last, whether there are five or
           four. */
        int64_t first = first_of(year, rule->month);
        int day = (rule->day - rowlock__weekday(first) + 7) % 7 + 7 * (rule->week - 1);

        return first + (day < rowlock__month_length(year, rule->month) ? day : day - 7);
    }
    if (rule->kind == 'n')
        return first_of(year, 1) + rule->day;
    return first_of(year, 1) + rule->day - 1 +
           (rule->day > 59 && rowlock__month_length(year, 2) == 29);
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
        const struct rowlock_tz_day *day = starts ? &rule->start : &rule->end;
        /* When daylight time starts or ends. The rule gives that time by the clock before the
           change. */
        int64_t time = day_of(year - 2 + i / 2, day) * ROWLOCK_DAY_SECONDS + day->seconds -
                       (starts ? rule->standard : rule->daylight);

        if (time > at) {
            span.until = time < span.until ? time : span.until;
        } else if (time > span.from || (time == span.from && starts)) {
            span.from = time;
            span.offset = starts ? rule->daylight : rule->standard;
        }
    }
    return span;
}

/* The parser of POSIX TZ rules. Each reader starts at `at` and returns the end of its part, or
   NULL. */

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Reads "CET", or quoted, "<+0330>". */
static const char *read_name(const char *at)
{
    const char *start = at;

    if (*at == '<') {
        do
            at++;
        while (is_letter(*at) || isdigit((unsigned char)*at) || *at == '+' || *at == '-');
        return *at == '>' && at - start >= 4 ? at + 1 : NULL;
    }
    while (is_letter(*at))
        at++;
    return at - start >= 3 ? at : NULL;
}

static const char *read_number(const char *at, int low, int high, int *out)
{
    int value = 0, digits = 0;

    for (; isdigit((unsigned char)*at) && digits < 3; at++, digits++)
        value = value * 10 + (*at - '0');
    if (digits == 0 || value < low || value > high)
        return NULL;
    *out = value;
    return at;
}

/* [+-]hh[:mm[:ss]] */
static const char *read_time(const char *at, int most_hours, int32_t *out)
{
    int sign = *at == '-' ? -1 : 1, part[3] = {0};

    if (*at == '-' || *at == '+')
        at++;
    at = read_number(at, 0, most_hours, &part[0]);
    for (int i = 1; at && i < 3 && *at == ':'; i++)
        at = read_number(at + 1, 0, 59, &part[i]);
    if (at)
        *out = sign * (part[0] * 3600 + part[1] * 60 + part[2]);
    return at;
}

/* POSIX counts west of UTC. */
static const char *read_offset(const char *at, int32_t *east)
{
    int32_t west = 0;

    at = read_time(at, 24, &west);
    *east = -west;
    return at;
}

/* ",M3.5.0/2" */
static const char *read_day(const char *at, struct rowlock_tz_day *day)
{
    if (!at || *at != ',')
        return NULL;
    at++;
    if (*at == 'M') {
        day->kind = 'M';
        at = read_number(at + 1, 1, 12, &day->month);
        at = at && *at == '.' ? read_number(at + 1, 1, 5, &day->week) : NULL;
        at = at && *at == '.' ? read_number(at + 1, 0, 6, &day->day) : NULL;
    } else {
        day->kind = *at == 'J' ? 'J' : 'n';
        at = day->kind == 'J' ? read_number(at + 1, 1, 365, &day->day)
                              : read_number(at, 0, 365, &day->day);
    }
    day->seconds = 2 * 3600;
    return at && *at == '/' ? read_time(at + 1, 167, &day->seconds) : at;
}

int rowlock__posix_tz(const char *text, struct rowlock_posix_tz *out)
{
    struct rowlock_posix_tz rule = {0};
    const char *at = read_name(text);

    at = at ? read_offset(at, &rule.standard) : NULL;
    if (at && *at) {
        rule.changes = 1;
        rule.daylight = rule.standard + 3600;
        at = read_name(at);
        if (at && *at != ',')
            at = read_offset(at, &rule.daylight);
        at = read_day(read_day(at, &rule.start), &rule.end);
    }
    if (!at || *at)
        return -1;
    *out = rule;
    return 0;
}
