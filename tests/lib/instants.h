/* SPDX-License-Identifier: Apache-2.0 */
/* Instants as text, by way of the C library's own zones: a judge that is not the one under test. */
#ifndef INSTANTS_H
#define INSTANTS_H

#include <stdint.h>
#include <time.h>

/* Milliseconds since 1970 of "2025-03-30T01:00Z" or "2025-03-30T01:00:30Z". */
int64_t t_utc(const char *text);

/* What the clocks of `zone` show. Sets the process's TZ, and leaves it so. One thread only. */
struct tm t_clocks(const char *zone, int64_t seconds);

/* "2025-03-30T03:00+0200=01:00Z", with seconds where there are any. Static memory. */
const char *t_shown(const char *zone, int64_t ms);

/* A number below `most` from a seed that goes on. */
uint32_t t_random(uint64_t *seed, uint32_t most);

#endif
