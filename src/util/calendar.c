/* SPDX-License-Identifier: Apache-2.0 */
/* Dates to day numbers and back, by the Gregorian calendar. */
#include "util/calendar.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Years start in March here: the leap day is the last day, and the months follow a pattern. */
#define ERA_DAYS 146097   /* 400 years */
#define ERA_1970 719468   /* days from 0000-03-01 to 1970-01-01 */
#define MARCH_TO_JULY 153 /* five months, a pattern that repeats */

int64_t rowlock__floor_divide(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

struct rowlock_date rowlock__date(int64_t days)
{
    int64_t era = rowlock__floor_divide(days + ERA_1970, ERA_DAYS);
    int day_of_era = (int)(days + ERA_1970 - era * ERA_DAYS);
    int year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / (ERA_DAYS - 1)) / 365;
    int day = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int month = (5 * day + 2) / MARCH_TO_JULY;
    struct rowlock_date date;

    date.day = day - (MARCH_TO_JULY * month + 2) / 5 + 1;
    date.month = month < 10 ? month + 3 : month - 9;
    date.year = (int)(era * 400) + year_of_era + (date.month <= 2);
    return date;
}

int64_t rowlock__days(struct rowlock_date date)
{
    int64_t year = date.year - (date.month <= 2);
    int64_t era = rowlock__floor_divide(year, 400);
    int64_t year_of_era = year - era * 400;
    int month = date.month > 2 ? date.month - 3 : date.month + 9;
    int day = (MARCH_TO_JULY * month + 2) / 5 + date.day - 1;

    return era * ERA_DAYS + 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day -
           ERA_1970;
}

int rowlock__month_length(int year, int month)
{
    int leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    if (month == 2)
        return 28 + leap;
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

int rowlock__weekday(int64_t days)
{
    return (int)(days + 4 - 7 * rowlock__floor_divide(days + 4, 7)); /* 1970 began on a Thursday */
}

int64_t rowlock__wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Formats points in time for people, in the local time zone. */

static int local(int64_t ms, struct tm *out)
{
    time_t seconds = (time_t)(ms / 1000);

    return ms > 0 && ms < INT64_MAX && localtime_r(&seconds, out);
}

void rowlock__local_time(int64_t ms, char *out, size_t size)
{
    struct tm at;

    if (!local(ms, &at) || strftime(out, size, "%Y-%m-%d %H:%M:%S %z", &at) == 0)
        out[0] = '\0';
}

void rowlock__local_time_short(int64_t ms, int64_t now_ms, char *out, size_t size)
{
    struct tm at, now;
    int is_today;

    out[0] = '\0';
    if (!local(ms, &at))
        return;
    is_today = local(now_ms, &now) && at.tm_yday == now.tm_yday && at.tm_year == now.tm_year;
    if (strftime(out, size, is_today ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &at) == 0)
        out[0] = '\0';
}

void rowlock__local_time_of(const char *utc, char *out, size_t size)
{
    struct rowlock_date date;
    int hour, minute, second, length = 0;
    int64_t seconds;

    sscanf(utc, "%4d-%2d-%2dT%2d:%2d:%2d%n", &date.year, &date.month, &date.day, &hour, &minute,
           &second, &length);
    if (length && utc[length] == '.')
        length += 1 + (int)strspn(utc + length + 1, "0123456789");
    if (length && strcmp(utc + length, "Z") == 0) {
        seconds = rowlock__days(date) * ROWLOCK_DAY_SECONDS + hour * 3600 + minute * 60 + second;
        rowlock__local_time(seconds * 1000, out, size);
    } else {
        snprintf(out, size, "%s", utc);
    }
}
