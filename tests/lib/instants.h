/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instants as text, through the C library's time zones: an independent reference for rowlock's own.
 */
#ifndef INSTANTS_H
#define INSTANTS_H

#include <stdint.h>
#include <time.h>

/* Milliseconds since 1970 of "2025-03-30T01:00Z" or "2025-03-30T01:00:30Z". */
int64_t t_utc(const char *text);

/* The wall time in `zone` at an instant. Sets the process's TZ and does not restore it. One
   thread only. */
struct tm t_clocks(const char *zone, int64_t seconds);

/* "2025-03-30T03:00+0200=01:00Z", with seconds where they are not 0. Static buffer. */
const char *t_shown(const char *zone, int64_t ms);

/* Asserts the next due times of a line after a time, up to a NULL: each as t_shown() prints it, or
   in UTC. The search finds each again from times between it and the one before. */
struct rowlock_zone;
void t_comes(const struct rowlock_zone *zone, const char *line, const char *after,
             const char *const wanted[]);

/* A pseudo-random number below `most`; advances the seed. */
uint32_t t_random(uint64_t *seed, uint32_t most);

#endif
