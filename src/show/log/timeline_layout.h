/* SPDX-License-Identifier: Apache-2.0 */
/* Where the bars of a timeline are: lanes, rows within a lane, and the axis of time. Times are
   milliseconds since 1970, places are units of the picture. timeline.c draws it. */
#ifndef ROWLOCK_TIMELINE_LAYOUT_H
#define ROWLOCK_TIMELINE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "show/log/log.h"

#define MOST_BREAKS 24 /* in the axis; the longest idle times are compressed */

/* An entry: a wait, and then a hold; from_ms <= held_ms <= to_ms. */
struct timeline_bar {
    char *name, *text; /* malloc'd; text: a browser shows it */
    int64_t from_ms;   /* the beginning of the wait */
    int64_t held_ms;   /* of the hold; to_ms if it never began */
    int64_t to_ms;
    int is_run, is_problem, gave_up;
    size_t lane, row; /* set by layout_make(); bars of a row do not overlap */
};

/* A stretch of the axis at one scale; idle time between two of them is compressed. */
struct stretch {
    int64_t from_ms, to_ms;
    double from_x, to_x;
};

/* The bars of one name. */
struct lane {
    const char *name;
    size_t rows;
};

/* Refers to the bars of the timeline, which must stay. */
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
/* The place of a time on the axis, from left to right; a time in a break is at its left edge. */
double layout_x(const struct layout *layout, int64_t ms);
void layout_free(struct layout *layout);

#endif
