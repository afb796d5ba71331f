/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects two clients under one lock. Each name has a word in memory that all processes share: 0,
 * or the client inside. Entering and leaving are compare-and-swap operations; one that fails is an
 * overlap.
 */
#ifndef BENCH_OVERLAP_H
#define BENCH_OVERLAP_H

#include <stdatomic.h>

struct bench_overlap {
    unsigned names;
    atomic_ulong found;
    atomic_uint inside[];
};

/* Returns NULL if there is no memory. Shared with every process that is forked afterwards. */
struct bench_overlap *bench_overlap_new(unsigned names);
void bench_overlap_free(struct bench_overlap *overlap);

/* Called under the lock: right after acquiring, right before releasing. Clients are numbered
   from 0. */
void bench_enter(struct bench_overlap *overlap, unsigned name, int client);
void bench_leave(struct bench_overlap *overlap, unsigned name, int client);

/* The client has died, so it is no longer inside. */
void bench_buried(struct bench_overlap *overlap, unsigned name, int client);

/* Clears all words and counts before a measurement. Visits only names that were used. */
void bench_overlap_reset(struct bench_overlap *overlap);

#endif
