/* SPDX-License-Identifier: Apache-2.0 */
/* Finds matching wall times: skips by days within months and by hours within a day,
   not by minutes. */
#include "util/calendar.h"

#include "schedule/cron.h"

#define DAY_MINUTES 1440
/* Dates and weekdays repeat after 400 years. One month more, as the first may be incomplete. */
#define CYCLE_MONTHS 4801

/* The next number of the set, from `from` on, in the direction of `step`; -1: none. */
static int seek_bit(uint64_t set, int from, int step)
{
    for (int i = from; i >= 0 && i < 64; i += step)
        if (set >> i & 1)
            return i;
    return -1;
}

static int seek_in_day(const struct rowlock_cron *line, int minute, int step)
{
    int first_minute = step > 0 ? 0 : 59;
    int hour = seek_bit(line->set[ROWLOCK_HOUR], minute / 60, step);
    int found;

    if (hour == minute / 60) {
        found = seek_bit(line->set[ROWLOCK_MINUTE], minute % 60, step);
        if (found >= 0)
            return hour * 60 + found;
        hour = seek_bit(line->set[ROWLOCK_HOUR], hour + step, step);
    }
    if (hour < 0)
        return -1;
    return hour * 60 + seek_bit(line->set[ROWLOCK_MINUTE], first_minute, step);
}

/* The days of the month that match the line, by the day rule of cron(5). */
static uint64_t days_of(const struct rowlock_cron *line, int year, int month)
{
    int length = rowlock__month_length(year, month);
    int weekday = rowlock__weekday(
        rowlock__days((struct rowlock_date){.year = year, .month = month, .day = 1}));
    uint64_t dates = line->set[ROWLOCK_DAY], weekdays = 0;

    for (int day = 1; day <= length; day++, weekday = (weekday + 1) % 7)
        weekdays |= (line->set[ROWLOCK_WEEKDAY] >> weekday & 1) << day;
    if (line->starred[ROWLOCK_DAY] || line->starred[ROWLOCK_WEEKDAY])
        return dates & weekdays;
    return (dates | weekdays) & (((uint64_t)2 << length) - 1);
}

static int seek_day(const struct rowlock_cron *line, int64_t day, int step, int64_t *found)
{
    struct rowlock_date date = rowlock__date(day);

    for (int i = 0; i < CYCLE_MONTHS; i++) {
        if (line->set[ROWLOCK_MONTH] >> date.month & 1) {
            date.day = seek_bit(days_of(line, date.year, date.month), date.day, step);
            if (date.day >= 0) {
                *found = rowlock__days(date);
                return 0;
            }
        }
        date.month += step;
        if (date.month < 1 || date.month > 12) {
            date.year += step;
            date.month = step > 0 ? 1 : 12;
        }
        date.day = step > 0 ? 1 : 31;
    }
    return -1;
}

int rowlock__cron_seek(const struct rowlock_cron *line, int64_t minute, int step, int64_t *found)
{
    int64_t start = rowlock__floor_divide(minute, DAY_MINUTES), day;
    int in_day = (int)(minute - start * DAY_MINUTES);

    if (seek_day(line, start, step, &day) != 0)
        return -1;
    in_day = day == start ? seek_in_day(line, in_day, step) : -1;
    if (in_day < 0) {
        if (day == start && seek_day(line, start + step, step, &day) != 0)
            return -1;
        in_day = seek_in_day(line, step > 0 ? 0 : DAY_MINUTES - 1, step);
    }
    *found = day * DAY_MINUTES + in_day;
    return 0;
}

/* The hash behind H in a crontab line. Another hash would move every job that uses H. */
#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

int rowlock__cron_hash(enum rowlock_cron_field field, const char *name, int span)
{
    uint64_t hash = FNV_BASIS ^ (unsigned char)('0' + field);

    for (hash *= FNV_PRIME; *name; name++)
        hash = (hash ^ (unsigned char)*name) * FNV_PRIME;
    /* The low bits of FNV-1a depend on the low bits of each byte alone, and fields must be
       independent of each other. */
    hash = (hash ^ hash >> 33) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ hash >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    hash ^= hash >> 33;
    return (int)(hash % (uint64_t)span);
}
