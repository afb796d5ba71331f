/* SPDX-License-Identifier: Apache-2.0 */
#include "show/log/timeline_layout.h"

#include <stdlib.h>
#include <string.h>

#define SHORTEST_MS 1000 /* of the whole axis, and of compressed idle time */
#define IDLE_SHARE 12    /* idle time longer than this part of the busy time is compressed */

/* ---- the axis -------------------------------------------------------------------------------- */

struct span {
    int64_t from_ms, to_ms;
};

static int by_time(const void *a, const void *b)
{
    const struct span *left = a, *right = b;

    return left->from_ms < right->from_ms ? -1 : left->from_ms > right->from_ms;
}

static int longest_first(const void *a, const void *b)
{
    int64_t left = ((const struct span *)a)->to_ms - ((const struct span *)a)->from_ms;
    int64_t right = ((const struct span *)b)->to_ms - ((const struct span *)b)->from_ms;

    return left > right ? -1 : left < right;
}

/* Makes the spans of all bars a list of disjoint ones; returns their number. */
static size_t merge(struct span *spans, size_t n)
{
    size_t merged = 0;

    qsort(spans, n, sizeof *spans, by_time);
    for (size_t i = 0; i < n; i++) {
        if (merged && spans[i].from_ms <= spans[merged - 1].to_ms) {
            if (spans[i].to_ms > spans[merged - 1].to_ms)
                spans[merged - 1].to_ms = spans[i].to_ms;
        } else {
            spans[merged++] = spans[i];
        }
    }
    return merged;
}

/* Turns busy spans into the idle ones between them that are compressed, by time. */
static size_t find_idle(struct span *spans, size_t n)
{
    int64_t busy_ms = 0, least_ms;
    size_t idle = 0, kept = 0;

    for (size_t i = 0; i < n; i++)
        busy_ms += spans[i].to_ms - spans[i].from_ms;
    least_ms = busy_ms / IDLE_SHARE > SHORTEST_MS ? busy_ms / IDLE_SHARE : SHORTEST_MS;
    for (size_t i = 0; i + 1 < n; i++)
        spans[idle++] = (struct span){spans[i].to_ms, spans[i + 1].from_ms};
    qsort(spans, idle, sizeof *spans, longest_first);
    while (kept < idle && kept < MOST_BREAKS && spans[kept].to_ms - spans[kept].from_ms >= least_ms)
        kept++;
    qsort(spans, kept, sizeof *spans, by_time);
    return kept;
}

static void scale(struct layout *out, double left, double right, double gap)
{
    double width = right - left - gap * (double)(out->n_stretches - 1), x = left;
    int64_t all_ms = 0;

    for (size_t i = 0; i < out->n_stretches; i++)
        all_ms += out->stretches[i].to_ms - out->stretches[i].from_ms;
    for (size_t i = 0; i < out->n_stretches; i++) {
        struct stretch *stretch = &out->stretches[i];

        stretch->from_x = x;
        x += width * (double)(stretch->to_ms - stretch->from_ms) / (double)all_ms;
        stretch->to_x = x;
        x += gap;
    }
}

static int make_axis(struct layout *out, double left, double right, double gap)
{
    struct span *spans = calloc(out->n + 1, sizeof *spans);
    struct span whole;
    size_t n, idle;

    if (!spans)
        return -1;
    for (size_t i = 0; i < out->n; i++)
        spans[i] = (struct span){out->bars[i].from_ms, out->bars[i].to_ms};
    n = merge(spans, out->n);
    whole = (struct span){spans[0].from_ms, n ? spans[n - 1].to_ms : 0};
    if (whole.to_ms - whole.from_ms < SHORTEST_MS)
        whole.to_ms = whole.from_ms + SHORTEST_MS;
    idle = n ? find_idle(spans, n) : 0;
    out->n_stretches = idle + 1;
    for (size_t i = 0; i <= idle; i++)
        out->stretches[i] = (struct stretch){.from_ms = i ? spans[i - 1].to_ms : whole.from_ms,
                                             .to_ms = i < idle ? spans[i].from_ms : whole.to_ms};
    free(spans);
    if (idle && gap * (double)idle > (right - left) * 0.4)
        gap = (right - left) * 0.4 / (double)idle;
    scale(out, left, right, gap);
    return 0;
}

double layout_x(const struct layout *layout, int64_t ms)
{
    const struct stretch *stretch = layout->stretches;
    int64_t length_ms;

    for (size_t i = 1; i < layout->n_stretches; i++)
        if (layout->stretches[i].from_ms <= ms)
            stretch = &layout->stretches[i];
    length_ms = stretch->to_ms - stretch->from_ms;
    if (ms >= stretch->to_ms || length_ms <= 0)
        return ms <= stretch->from_ms ? stretch->from_x : stretch->to_x;
    return stretch->from_x +
           (stretch->to_x - stretch->from_x) * (double)(ms - stretch->from_ms) / (double)length_ms;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static int by_name_and_time(const void *a, const void *b)
{
    const struct timeline_bar *left = a, *right = b;
    int order = strcmp(left->name, right->name);

    if (order == 0)
        order = left->from_ms < right->from_ms ? -1 : left->from_ms > right->from_ms;
    return order;
}

/* Each bar gets the first row of its lane that is free at the beginning of the bar. */
static int make_lanes(struct layout *out)
{
    int64_t *ends = calloc(out->n + 1, sizeof *ends); /* of the last bar of each row */
    struct lane *lane = NULL;

    out->lanes = calloc(out->n + 1, sizeof *out->lanes);
    if (!ends || !out->lanes) {
        free(ends);
        return -1;
    }
    if (out->n > 1)
        qsort(out->bars, out->n, sizeof *out->bars, by_name_and_time);
    for (size_t i = 0; i < out->n; i++) {
        struct timeline_bar *bar = &out->bars[i];

        if (!lane || strcmp(bar->name, lane->name) != 0) {
            lane = &out->lanes[out->n_lanes++];
            *lane = (struct lane){bar->name, 0};
        }
        bar->lane = out->n_lanes - 1;
        bar->row = 0;
        while (bar->row < lane->rows && ends[bar->row] > bar->from_ms)
            bar->row++;
        ends[bar->row] = bar->to_ms;
        if (bar->row == lane->rows)
            lane->rows++;
    }
    free(ends);
    return 0;
}

int layout_make(const struct timeline *timeline, double left, double right, double gap,
                struct layout *out)
{
    *out = (struct layout){.n = timeline->n};
    out->bars = calloc(timeline->n + 1, sizeof *out->bars);
    if (!out->bars)
        return -1;
    if (timeline->n)
        memcpy(out->bars, timeline->bars, timeline->n * sizeof *out->bars);
    if (make_lanes(out) == 0 && make_axis(out, left, right, gap) == 0)
        return 0;
    layout_free(out);
    return -1;
}

void layout_free(struct layout *layout)
{
    free(layout->bars);
    free(layout->lanes);
}
