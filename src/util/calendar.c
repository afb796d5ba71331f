/* SPDX-License-Identifier: Apache-2.0 */
/* Dates to day numbers and back, by the Gregorian calendar. */
#include "util/calendar.h"

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
