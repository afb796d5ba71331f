/* SPDX-License-Identifier: Apache-2.0 */
/* Of the verb `log`: the beginning of a list, as a user states it, and the history as a picture. */
#ifndef ROWLOCK_LOG_H
#define ROWLOCK_LOG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rowlock.h"

/*
 * A duration before `now_ms` ("2h", "7d"), or a point in local time: "2026-11-21",
 * "2026-11-21 02:00", "2026-11-21T02:00:30", also with "Z" or "+01:00"; "02:00" is the latest such
 * time of day. `*ms` is milliseconds since 1970 UTC. 0; -1: unreadable; 1: in the future.
 */
int read_since(const char *text, int64_t now_ms, int64_t *ms);

/* Writes a text of anybody into SVG or HTML: escaped, and with U+FFFD for what XML does not
   allow. */
void markup_text(FILE *out, const char *text);

/*
 * The history as a picture (SVG): one lane for each name, and a bar for each entry. Idle time is
 * compressed. The picture has no script and refers to nothing; texts in it are escaped.
 */

struct timeline {   /* empty: all zero but now_ms */
    int64_t now_ms; /* no bar ends later, and none begins before 1970: anything may be in a row */
    struct timeline_bar *bars;
    size_t n, size;
};

/* Adds the bar of an entry, which is not kept. Nonzero: out of memory. */
int timeline_add(struct timeline *timeline, const struct rowlock_past *past);
/* Draws what was added, up to now_ms; out of memory, it draws nothing. Errors of `out` are left to
   the caller. */
void timeline_draw(FILE *out, const struct timeline *timeline);
void timeline_free(struct timeline *timeline);

#endif
