/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history as a picture (SVG): one lane for each name, and a bar for each entry. Idle time is
 * compressed. The picture has no script and refers to nothing; texts in it are escaped.
 */
#ifndef ROWLOCK_TIMELINE_H
#define ROWLOCK_TIMELINE_H

#include <stdio.h>

#include "rowlock.h"

struct timeline {   /* empty: all zero but now_ms */
    int64_t now_ms; /* no bar ends later, and none begins before 1970: anything may be in a row */
    struct timeline_bar *bars;
    size_t n, size;
};

/* Nonzero: out of memory. */
int timeline_add(struct timeline *timeline, const struct rowlock_past *past);
/* Draws what was added; out of memory, it draws nothing. Errors of `out` are left to the caller. */
void timeline_draw(FILE *out, const struct timeline *timeline);
void timeline_free(struct timeline *timeline);

#endif
