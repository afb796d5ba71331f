/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds two clients under one lock. Each name has a word in memory that all processes share: 0, or who is
 * inside. Entering and leaving are compare-and-swap; one that fails is an overlap.
 */
#ifndef BENCH_OVERLAP_H
#define BENCH_OVERLAP_H

#include <stdatomic.h>

struct bench_overlap {
    unsigned names;
    atomic_ulong found;
    atomic_uint inside[];
};

/* NULL: no memory. Shared with every process that is forked from here on. */
struct bench_overlap *bench_overlap_new(unsigned names);
void bench_overlap_free(struct bench_overlap *overlap);

/* Under the lock: the first thing after its acquisition, the last before its release. Clients from 0. */
void bench_enter(struct bench_overlap *overlap, unsigned name, int client);
void bench_leave(struct bench_overlap *overlap, unsigned name, int client);

/* The client is dead, so it is inside no more. */
void bench_buried(struct bench_overlap *overlap, unsigned name, int client);

/* All out, none found: before a measurement. Names beyond the touched ones need not be looked at. */
void bench_overlap_reset(struct bench_overlap *overlap);

#endif
