/* SPDX-License-Identifier: Apache-2.0 */
/* The Gregorian calendar, for all years, as numbers of days and seconds since 1970-01-01. */
#ifndef ROWLOCK_CALENDAR_H
#define ROWLOCK_CALENDAR_H

#include <stddef.h>
#include <stdint.h>

#define ROWLOCK_DAY_SECONDS 86400
/* Seconds; [FIRST, LAST) are the years 1 to 9999. Nothing is computed outside of them. */
#define ROWLOCK_CALENDAR_FIRST (-62135596800LL)
#define ROWLOCK_CALENDAR_LAST 253402300800LL

struct rowlock_date {
    int year, month, day; /* from 1 */
};

/* The date of a day number, counted from 1970-01-01, and back. The date is not checked: a day after
   the last of its month counts on into the next month. */
struct rowlock_date rowlock__date(int64_t days);
int64_t rowlock__days(struct rowlock_date date);
/* The length in days of a month from 1 to 12. */
int rowlock__month_length(int year, int month);
/* The weekday of a day number; 0 is Sunday. */
int rowlock__weekday(int64_t days);

/* Divides by a positive number and rounds down, which times before 1970 need. */
int64_t rowlock__floor_divide(int64_t value, int64_t by);

/* Milliseconds since 1970 by this machine's clock, which may jump: for what people read, never for
   a deadline (clock.h) or a decision about a lease (the database's clock). */
int64_t rowlock__wall_ms(void);

/* Points in time for people: in this machine's time zone, with its offset. JSON
   uses another form. */

#define ROWLOCK_INSTANT_SIZE 40 /* room for each of these texts */

/* "2026-11-21 02:00:01 +0100" of milliseconds since 1970 UTC; "" if there is no such time, and for
   0 and below, which mean "never" or "not yet". */
void rowlock__local_time(int64_t ms, char *out, size_t size);

/* The same for a table column: without the offset, and without the date if it is
   that of `now_ms`. */
void rowlock__local_time_short(int64_t ms, int64_t now_ms, char *out, size_t size);

/* The local time of "2026-11-21T01:00:01.000Z", the form that SQL statements return. Other texts
   are copied. */
void rowlock__local_time_of(const char *utc, char *out, size_t size);

#endif
