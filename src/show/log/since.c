/* SPDX-License-Identifier: Apache-2.0 */
#include "show/log/log.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "util/duration.h"

/* "Z", "+01:00", "+0100", or nothing. `*seconds`: east of UTC. 0, or -1. */
static int read_zone(const char *text, int *is_stated, int *seconds)
{
    int sign = *text == '-' ? -1 : 1, hours = 0, minutes = 0, end = 0;

    *is_stated = *text != '\0';
    *seconds = 0;
    if (!*text || strcmp(text, "Z") == 0)
        return 0;
    if (*text != '+' && *text != '-')
        return -1;
    text++;
    if (sscanf(text, "%2d:%2d%n", &hours, &minutes, &end) != 2 &&
        sscanf(text, "%2d%2d%n", &hours, &minutes, &end) != 2)
        return -1;
    if (strspn(text, "0123456789:") != strlen(text) || (size_t)end != strlen(text) || hours > 14 ||
        minutes > 59)
        return -1;
    *seconds = sign * (hours * 3600 + minutes * 60);
    return 0;
}

/* A date, with or without a time of day. */
static int read_date(const char *text, int64_t *ms)
{
    static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M",
                                        "%Y-%m-%d %H:%M", "%Y-%m-%d"};

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct tm tm = {.tm_isdst = -1}, noon;
        const char *rest = strptime(text, forms[i], &tm);
        int is_stated, east;
        time_t at;

        if (!rest || read_zone(rest, &is_stated, &east))
            continue;
        /* Not 30 February, which timegm() takes for a day of March; no leap second. */
        noon = (struct tm){
            .tm_year = tm.tm_year, .tm_mon = tm.tm_mon, .tm_mday = tm.tm_mday, .tm_hour = 12};
        timegm(&noon);
        if (noon.tm_mday != tm.tm_mday || tm.tm_sec >= 60)
            return -1;
        at = is_stated ? timegm(&tm) - east : mktime(&tm);
        *ms = (int64_t)at * 1000;
        return at < 0 ? -1 : 0;
    }
    return -1;
}

/* The latest such time of day. */
static int read_time_of_day(const char *text, int64_t now_ms, int64_t *ms)
{
    time_t now = (time_t)(now_ms / 1000);
    struct tm day, tm;
    const char *rest;

    if (!localtime_r(&now, &day))
        return -1;
    tm = day;
    tm.tm_sec = 0;
    rest = strptime(text, "%H:%M:%S", &tm);
    if (!rest)
        rest = strptime(text, "%H:%M", &tm);
    if (!rest || *rest)
        return -1;
    tm.tm_isdst = -1;
    *ms = (int64_t)mktime(&tm) * 1000;
    if (*ms > now_ms) {
        tm.tm_mday--;
        tm.tm_isdst = -1;
        *ms = (int64_t)mktime(&tm) * 1000;
    }
    return 0;
}

int read_since(const char *text, int64_t now_ms, int64_t *ms)
{
    int64_t ago_ms;

    if (rowlock__duration(text, 1000, &ago_ms) == 0) {
        *ms = ago_ms < now_ms ? now_ms - ago_ms : 0;
        return 0;
    }
    if (read_time_of_day(text, now_ms, ms) && read_date(text, ms))
        return -1;
    return *ms > now_ms ? 1 : 0;
}
