/* SPDX-License-Identifier: Apache-2.0 */
/* Instants as people read them: in this machine's time zone, with its offset. JSON has its own form. */
#ifndef ROWLOCK_INSTANT_H
#define ROWLOCK_INSTANT_H

#include <stddef.h>
#include <stdint.h>

#define ROWLOCK_INSTANT_SIZE 40

/* "2026-11-21 02:00:01 +0100" of milliseconds since 1970 UTC; "" if there is no such time. */
void rowlock__local_time(int64_t ms, char *out, size_t size);

/* The same in a column of a table: without the offset, and without a date that is `now_ms`'s too. */
void rowlock__local_time_short(int64_t ms, int64_t now_ms, char *out, size_t size);

/* Of "2026-11-21T01:00:01.000Z", as the database's statements say it; another text stays as it is. */
void rowlock__local_time_of(const char *utc, char *out, size_t size);

#endif
