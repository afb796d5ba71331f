/* SPDX-License-Identifier: Apache-2.0 */
/* The overlap detector: notices two who hold leases that exclude each other, in memory that processes
   share. */
#ifndef TEST_OVERLAP_H
#define TEST_OVERLAP_H

#include <pthread.h>
#include <sys/types.h>

#include "lib/test.h"

/* Who is inside, and until when at most by the monotonic clock: so it may be told of a lease, and
   then die with it. */
struct inside {
    int name, count;
    enum rowlock_mode mode;
    pid_t pid;
    long long until; /* 0: a free place */
};
#define MOST_INSIDE 64
struct overlap {
    pthread_mutex_t mutex;
    struct inside inside[MOST_INSIDE];
    int limit;      /* of permits */
    int violations; /* who entered where somebody was that excludes them */
    int entered, most_permits;
    int code; /* the first call that failed */
    char text[600];
};

struct overlap *overlap_new(int limit);
void overlap_free(struct overlap *overlap);
/* Enters under the lease; a place to leave with. */
int overlap_enter(struct overlap *overlap, int name, struct rowlock_want want,
                  const struct rowlock_lease *lease);
void overlap_leave(struct overlap *overlap, int place);
/* The first failure is kept. */
void overlap_failed(struct overlap *overlap, const struct rowlock_error *error);
/* Asserts that nobody overlapped and no call failed. */
void overlap_check(struct overlap *overlap);

#endif
