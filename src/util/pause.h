/* SPDX-License-Identifier: Apache-2.0 */
/* Backoff: pauses that grow, with jitter, for conditions that can only be polled. */
#ifndef ROWLOCK_PAUSE_H
#define ROWLOCK_PAUSE_H

#include <stdint.h>

#include "util/clock.h"

struct rowlock_pause {
    int64_t next_ms, most_ms;
    uint32_t seed; /* 0: seeded at the first pause */
};

#define ROWLOCK_PAUSE_SQLITE        \
    {                               \
        .next_ms = 1, .most_ms = 20 \
    } /* another process's write lock */
#define ROWLOCK_PAUSE_LEASE           \
    {                                 \
        .next_ms = 10, .most_ms = 250 \
    } /* design of the lease poll */

/* Sleeps once. READY: the pause has ended; DEADLINE: the deadline had passed before it began. */
enum rowlock_wake rowlock__pause(struct rowlock_pause *pause, int interrupt_fd,
                                 int64_t deadline_ms);

#endif
