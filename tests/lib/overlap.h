/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects two clients that hold conflicting leases, or transaction locks, at the same time, in
 * memory that processes share.
 */
#ifndef TEST_OVERLAP_H
#define TEST_OVERLAP_H

#include <pthread.h>
#include <sys/types.h>

#include "lib/test.h"

/* A client inside, with its latest end by the monotonic clock: if it is killed, its place frees
   itself when its lease expires. */
struct inside {
    int name, count;
    enum rowlock_mode mode;
    pid_t pid;
    long long until; /* 0: the place is free */
};
#define MOST_INSIDE 64
struct overlap {
    pthread_mutex_t mutex;
    struct inside inside[MOST_INSIDE];
    int limit;      /* on permits */
    int violations; /* entries while a conflicting client was inside */
    int entered, most_permits;
    int code; /* of the first call that failed */
    char text[600];
};

struct overlap *overlap_new(int limit);
/* Registers the holder of the lease (NULL: of a transaction lock); returns the place that
   overlap_leave takes. */
int overlap_enter(struct overlap *overlap, int name, struct rowlock_want want,
                  const struct rowlock_lease *lease);
void overlap_leave(struct overlap *overlap, int place);
/* Records the failure; the first one is kept. */
void overlap_failed(struct overlap *overlap, const struct rowlock_error *error);
/* Asserts that no clients overlapped and no call failed. */
void overlap_check(struct overlap *overlap);

#endif
