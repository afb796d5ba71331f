/* SPDX-License-Identifier: Apache-2.0 */
/* Detects two clients under one lock (overlap.h). */
#include "overlap.h"

#include <stddef.h>
#include <sys/mman.h>

static size_t size_of(unsigned names)
{
    return sizeof(struct bench_overlap) + names * sizeof(atomic_uint);
}

struct bench_overlap *bench_overlap_new(unsigned names)
{
    struct bench_overlap *overlap =
        mmap(NULL, size_of(names), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (overlap == MAP_FAILED)
        return NULL;
    overlap->names = names;
    return overlap;
}

void bench_overlap_free(struct bench_overlap *overlap)
{
    if (overlap)
        munmap(overlap, size_of(overlap->names));
}

static void exchange(struct bench_overlap *overlap, unsigned name, unsigned from, unsigned to)
{
    unsigned expected = from;

    if (!atomic_compare_exchange_strong(&overlap->inside[name], &expected, to))
        atomic_fetch_add(&overlap->found, 1);
}

void bench_enter(struct bench_overlap *overlap, unsigned name, int client)
{
    exchange(overlap, name, 0, (unsigned)client + 1);
}

void bench_leave(struct bench_overlap *overlap, unsigned name, int client)
{
    exchange(overlap, name, (unsigned)client + 1, 0);
}

/* If another client has the name, that is not an overlap: the killed one may not have had it. */
void bench_buried(struct bench_overlap *overlap, unsigned name, int client)
{
    unsigned expected = (unsigned)client + 1;

    atomic_compare_exchange_strong(&overlap->inside[name], &expected, 0);
}

void bench_overlap_reset(struct bench_overlap *overlap)
{
    for (unsigned i = 0; i < overlap->names; i++)
        atomic_store_explicit(&overlap->inside[i], 0, memory_order_relaxed);
    atomic_store(&overlap->found, 0);
}
