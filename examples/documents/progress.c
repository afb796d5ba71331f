/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BAR 40
#define TERMINAL_PERIOD 0.2
#define LINE_PERIOD 5.0

double monotonic_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Counting the files costs a walk of its own, so it is done only for a bar on a terminal. */
bool progress_wants_total(void)
{
    return isatty(STDERR_FILENO);
}

void progress_start(struct progress *p, uint64_t total)
{
    p->terminal = isatty(STDERR_FILENO);
    p->total = total;
    p->started = p->shown = monotonic_seconds();
}

static void draw(const struct progress *p, uint64_t read, double rate)
{
    char bar[BAR + 1];
    uint64_t total = read > p->total ? read : p->total;
    size_t full = total ? (size_t)(read * BAR / total) : 0;

    memset(bar, ' ', BAR);
    memset(bar, '=', full);
    bar[BAR] = 0;
    if (p->total)
        fprintf(stderr, "\r[%s] %3u%%  %" PRIu64 " of %" PRIu64 "  %.0f/s \033[K", bar,
                (unsigned)(read * 100 / total), read, total, rate);
    else
        fprintf(stderr, "\r%" PRIu64 " documents  %.0f/s \033[K", read, rate);
}

static void show(struct progress *p, uint64_t read, double now)
{
    double rate = now > p->started ? (double)read / (now - p->started) : 0;

    p->shown = now;
    if (p->terminal)
        draw(p, read, rate);
    else if (p->total)
        fprintf(stderr, "documents: %" PRIu64 " of %" PRIu64 ", %.0f/s\n", read, p->total, rate);
    else
        fprintf(stderr, "documents: %" PRIu64 ", %.0f/s\n", read, rate);
}

void progress_show(struct progress *p, uint64_t read)
{
    double now = monotonic_seconds();

    if (now - p->shown >= (p->terminal ? TERMINAL_PERIOD : LINE_PERIOD))
        show(p, read, now);
}

void progress_end(struct progress *p, uint64_t read)
{
    if (!p->terminal)
        return;
    show(p, read, monotonic_seconds());
    fputc('\n', stderr);
}
