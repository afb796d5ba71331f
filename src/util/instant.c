/* SPDX-License-Identifier: Apache-2.0 */
/* Formats points in time for people, in the local time zone. */
#include "util/instant.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "util/calendar.h"

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
