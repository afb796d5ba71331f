/* SPDX-License-Identifier: Apache-2.0 */
/* xs:dateTime to microseconds since 1970 UTC and back. The calendar is timegm() and gmtime_r(). */
#include <ctype.h>
#include <stdio.h>
#include <time.h>

#include "documents.h"

#define SECOND INT64_C(1000000)
#define FIRST (INT64_C(-62135596800) * SECOND) /* 0001-01-01 */
#define LAST (INT64_C(253402300800) * SECOND)  /* 10000-01-01 */

void timestamp_print(int64_t microseconds, char text[TIMESTAMP_TEXT])
{
    int64_t fraction = (microseconds % SECOND + SECOND) % SECOND;
    time_t seconds = (time_t)((microseconds - fraction) / SECOND);
    struct tm tm;

    gmtime_r(&seconds, &tm);
    snprintf(text, TIMESTAMP_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", tm.tm_year + 1900,
             tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)fraction);
}

/* Digits after the sixth are cut off. NULL: there is a point, but no digit. */
static const char *fraction(const char *at, int64_t *microsecond)
{
    int scale = 100000;

    *microsecond = 0;
    if (*at != '.')
        return at;
    if (!isdigit((unsigned char)at[1]))
        return NULL;
    for (at++; isdigit((unsigned char)*at); at++, scale /= 10)
        *microsecond += (*at - '0') * scale;
    return at;
}

/* The rest of the text as minutes east of Greenwich. */
static int zone(const char *at, int *minutes)
{
    int hours = 0, length = 0;

    *minutes = 0;
    if (!*at || (*at == 'Z' && !at[1]))
        return 0;
    if (*at != '+' && *at != '-')
        return -1;
    sscanf(at + 1, "%2d:%2d%n", &hours, minutes, &length);
    if (length != 5 || at[6] || !isdigit((unsigned char)at[1]) || !isdigit((unsigned char)at[4]) ||
        *minutes > 59 || hours * 60 + *minutes > 14 * 60)
        return -1;
    *minutes = (*at == '-' ? -1 : 1) * (hours * 60 + *minutes);
    return 0;
}

const char *timestamp_parse(const char *text, int64_t *microseconds)
{
    static const char form[] = "0000-00-00T00:00:00";
    struct tm date = {0};
    int year, month, day, hour, minute, second, east;
    int64_t midnight, micro, value;

    for (size_t i = 0; i < sizeof form - 1; i++)
        if (form[i] == '0' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
            return "not YYYY-MM-DDThh:mm:ss";
    sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d", &year, &month, &day, &hour, &minute, &second);
    text = fraction(text + sizeof form - 1, &micro);
    if (!text)
        return "not YYYY-MM-DDThh:mm:ss";
    if (zone(text, &east))
        return "no such time zone";
    date.tm_year = year - 1900;
    date.tm_mon = month - 1;
    date.tm_mday = day;
    midnight = timegm(&date) * SECOND; /* and makes 1 March of 29 February 2013 */
    if (year == 0 || date.tm_mon != month - 1 || date.tm_mday != day)
        return "no such date";
    /* 24:00:00 is the end of that day, by XML Schema */
    if (minute > 59 || second > 59 || hour > 24 || (hour == 24 && (minute || second || micro)))
        return "no such time of day";
    value = midnight + (hour * INT64_C(3600) + (minute - east) * 60 + second) * SECOND + micro;
    if (value < FIRST || value >= LAST)
        return "outside the years 0001 to 9999";
    *microseconds = value;
    return NULL;
}
