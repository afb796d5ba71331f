/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ROWLOCK_DURATION_H
#define ROWLOCK_DURATION_H

#include <stdint.h>

/*
 * Reads "90", "90s", "500ms", "5m", "2h", "1d", "1w", "1h30m", "0.5s": numbers with a unit each, the
 * greater unit first, fractions allowed. A number without a unit counts `bare_ms` each and stands
 * alone. What is less than a millisecond is rounded up, for 0 means something else to most callers.
 * 0, or -1: it is none, or too long for 63 bits.
 */
int rowlock__duration(const char *text, int64_t bare_ms, int64_t *ms);

#endif
