/* SPDX-License-Identifier: Apache-2.0 */
/* Parses durations. */
#ifndef ROWLOCK_DURATION_H
#define ROWLOCK_DURATION_H

#include <stdint.h>

/*
 * Parses a duration: "90", "90s", "500ms", "5m", "2h", "1d", "1w", "1h30m", "0.5s". Each number
 * has a unit, the larger unit first; fractions are allowed. Only a single number may lack a unit;
 * it counts units of `bare_ms`. Rounds up to whole milliseconds, because 0 has another meaning to
 * most callers. Returns 0, or -1 if `text` is not a duration or exceeds 63 bits: then `*ms` is as
 * before.
 */
int rowlock__duration(const char *text, int64_t bare_ms, int64_t *ms);

#endif
