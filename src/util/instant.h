/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time for people: in this machine's time zone, with its offset. JSON
   uses another form. */
#ifndef ROWLOCK_INSTANT_H
#define ROWLOCK_INSTANT_H

#include <stddef.h>
#include <stdint.h>

#define ROWLOCK_INSTANT_SIZE 40

/* "2026-11-21 02:00:01 +0100" of milliseconds since 1970 UTC; "" if there is no such time. */
void rowlock__local_time(int64_t ms, char *out, size_t size);

/* The same for a table column: without the offset, and without the date if it is
   that of `now_ms`. */
void rowlock__local_time_short(int64_t ms, int64_t now_ms, char *out, size_t size);

/* The local time of "2026-11-21T01:00:01.000Z", the form that SQL statements return. Other texts
   are copied. */
void rowlock__local_time_of(const char *utc, char *out, size_t size);

#endif
