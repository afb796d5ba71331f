/* SPDX-License-Identifier: Apache-2.0 */
/* Where the bars of a timeline are: lanes, rows within a lane, and the axis of time. */
#ifndef ROWLOCK_TIMELINE_LAYOUT_H
#define ROWLOCK_TIMELINE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "show/log/log.h"

#define MOST_BREAKS 24

struct timeline_bar {
    char *name, *text; /* text: a browser shows it */
    int64_t from_ms;   /* the beginning of the wait */
    int64_t held_ms;   /* of the hold; to_ms if it never began */
    int64_t to_ms;
    int is_run, is_problem, gave_up;
    size_t lane, row;
};

/* A stretch of the axis at one scale; idle time between two of them is compressed. */
struct stretch {
    int64_t from_ms, to_ms;
    double from_x, to_x;
};

struct lane {
    const char *name;
    size_t rows;
};

struct layout {
    struct timeline_bar *bars; /* by lane, then by time */
    size_t n;
    struct lane *lanes;
    size_t n_lanes;
    struct stretch stretches[MOST_BREAKS + 1];
    size_t n_stretches;
};

/* From left to right; between stretches are breaks of the width `gap`. Sets lane and row of each
   bar. Nonzero: out of memory. */
int layout_make(const struct timeline *timeline, double left, double right, double gap,
                struct layout *out);
double layout_x(const struct layout *layout, int64_t ms);
void layout_free(struct layout *layout);

#endif
