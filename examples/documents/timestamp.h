/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times as documents write them (xs:dateTime), and as the loader compares them: a whole number of
 * microseconds, so that "newer" is exact on every engine.
 */
#ifndef DOCUMENTS_TIMESTAMP_H
#define DOCUMENTS_TIMESTAMP_H

#include <stdint.h>

#define TIMESTAMP_TEXT 28 /* 2014-01-15T09:57:00.000000Z and a zero */

/*
 * YYYY-MM-DDThh:mm:ss[.fraction][Z|+hh:mm|-hh:mm], years 0001 to 9999, 24:00:00 allowed. Without a
 * zone it is UTC. Digits after the sixth of a fraction are cut off, never rounded: two versions
 * within one microsecond are the same instant. Returns NULL and sets `*microseconds` (since 1970
 * UTC), or returns the reason (static text).
 */
const char *timestamp_parse(const char *text, int64_t *microseconds);

/* In UTC, always with six digits of fraction. */
void timestamp_print(int64_t microseconds, char text[TIMESTAMP_TEXT]);

/* The calendar and the clock in UTC. */
struct timestamp_parts {
    int year, month, day, hour, minute, second, microsecond;
};
struct timestamp_parts timestamp_split(int64_t microseconds);
int64_t timestamp_join(const struct timestamp_parts *parts);

#endif
