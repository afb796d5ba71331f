/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xs:dateTime to microseconds since 1970 UTC and back. By hand, because strptime() knows neither
 * fractions nor zones and mktime() depends on where the program runs.
 */
#include "timestamp.h"

#include <stdbool.h>
#include <stdio.h>

#define SECOND INT64_C(1000000)
#define DAY (86400 * SECOND)

/* Days since 1970-01-01 in the proleptic Gregorian calendar, counted in years that begin in March
   (Howard Hinnant, "chrono-compatible low-level date algorithms"). */
static int64_t days_from_date(int year, int month, int day)
{
    int y = month <= 2 ? year - 1 : year;
    int era = (y >= 0 ? y : y - 399) / 400;
    int year_of_era = y - era * 400;
    int day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return (int64_t)era * 146097 + day_of_era - 719468;
}

static void date_from_days(int64_t days, int *year, int *month, int *day)
{
    int64_t z = days + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int day_of_era = (int)(z - era * 146097);
    int year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int from_march = (5 * day_of_year + 2) / 153;

    *day = day_of_year - (153 * from_march + 2) / 5 + 1;
    *month = from_march < 10 ? from_march + 3 : from_march - 9;
    *year = (int)(year_of_era + era * 400) + (*month <= 2);
}

int64_t timestamp_join(const struct timestamp_parts *p)
{
    int64_t seconds = p->hour * INT64_C(3600) + p->minute * 60 + p->second;

    return days_from_date(p->year, p->month, p->day) * DAY + seconds * SECOND + p->microsecond;
}

struct timestamp_parts timestamp_split(int64_t microseconds)
{
    struct timestamp_parts p;
    int64_t days = microseconds / DAY;
    int64_t rest = microseconds % DAY;

    if (rest < 0) {
        rest += DAY;
        days--;
    }
    date_from_days(days, &p.year, &p.month, &p.day);
    p.microsecond = (int)(rest % SECOND);
    p.second = (int)(rest / SECOND % 60);
    p.minute = (int)(rest / (60 * SECOND) % 60);
    p.hour = (int)(rest / (3600 * SECOND));
    return p;
}

void timestamp_print(int64_t microseconds, char text[TIMESTAMP_TEXT])
{
    struct timestamp_parts p = timestamp_split(microseconds);

    snprintf(text, TIMESTAMP_TEXT, "%04u-%02u-%02uT%02u:%02u:%02u.%06uZ", (unsigned)p.year % 10000,
             (unsigned)p.month % 100, (unsigned)p.day % 100, (unsigned)p.hour % 100,
             (unsigned)p.minute % 100, (unsigned)p.second % 100, (unsigned)p.microsecond % 1000000);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Exactly `digits` digits, then `end` unless that is 0. */
static bool number(const char **at, int digits, char end, int *out)
{
    *out = 0;
    for (int i = 0; i < digits; i++, (*at)++) {
        if (!is_digit(**at))
            return false;
        *out = *out * 10 + (**at - '0');
    }
    if (!end)
        return true;
    return *(*at)++ == end;
}

static bool fraction(const char **at, int *microsecond)
{
    int scale = 100000;

    *microsecond = 0;
    if (**at != '.')
        return true;
    (*at)++;
    if (!is_digit(**at))
        return false;
    for (; is_digit(**at); (*at)++, scale /= 10)
        *microsecond += (**at - '0') * scale;
    return true;
}

/* Minutes east of Greenwich. */
static bool zone(const char **at, int *minutes)
{
    int hours;
    char sign = **at;

    *minutes = 0;
    if (!sign)
        return true;
    (*at)++;
    if (sign == 'Z')
        return true;
    if ((sign != '+' && sign != '-') || !number(at, 2, ':', &hours) || !number(at, 2, 0, minutes))
        return false;
    if (hours > 14 || *minutes > 59 || (hours == 14 && *minutes))
        return false;
    *minutes = (sign == '-' ? -1 : 1) * (hours * 60 + *minutes);
    return true;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leap);
}

static const char *impossible(const struct timestamp_parts *p)
{
    if (p->year < 1 || p->month < 1 || p->month > 12 || p->day < 1 ||
        p->day > days_in_month(p->year, p->month))
        return "no such date";
    if (p->hour == 24 && !p->minute && !p->second && !p->microsecond)
        return NULL; /* the end of that day, by XML Schema */
    if (p->hour > 23 || p->minute > 59 || p->second > 59)
        return "no such time of day";
    return NULL;
}

const char *timestamp_parse(const char *text, int64_t *microseconds)
{
    struct timestamp_parts p;
    int east;
    const char *why;
    int64_t value;

    if (!number(&text, 4, '-', &p.year) || !number(&text, 2, '-', &p.month) ||
        !number(&text, 2, 'T', &p.day) || !number(&text, 2, ':', &p.hour) ||
        !number(&text, 2, ':', &p.minute) || !number(&text, 2, 0, &p.second) ||
        !fraction(&text, &p.microsecond))
        return "not YYYY-MM-DDThh:mm:ss";
    if (!zone(&text, &east) || *text)
        return "no such time zone";
    why = impossible(&p);
    if (why)
        return why;
    value = timestamp_join(&p) - east * 60 * SECOND;
    if (value < days_from_date(1, 1, 1) * DAY || value >= days_from_date(10000, 1, 1) * DAY)
        return "outside the years 0001 to 9999";
    *microseconds = value;
    return NULL;
}
