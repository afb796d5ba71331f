/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of a list, as a user states it. */
#ifndef ROWLOCK_LOG_SINCE_H
#define ROWLOCK_LOG_SINCE_H

#include <stddef.h>
#include <stdint.h>

/*
 * A duration before `now_ms` ("2h", "7d"), or a point in local time: "2026-11-21",
 * "2026-11-21 02:00", "2026-11-21T02:00:30", also with "Z" or "+01:00"; "02:00" is the latest such
 * time of day. `*ms` is milliseconds since 1970 UTC. 0; -1: unreadable; 1: in the future.
 */
int read_since(const char *text, int64_t now_ms, int64_t *ms);

#endif
