/* SPDX-License-Identifier: Apache-2.0 */
/* The node's monotonic clock, and waiting for file descriptors until a deadline by that clock. */
#ifndef ROWLOCK_CLOCK_H
#define ROWLOCK_CLOCK_H

#include <stdint.h>

#define ROWLOCK_NEVER INT64_MAX /* a time that never comes: no deadline */

/* Milliseconds of the clock in system/system.h. Its times mean nothing on another machine, or after
   a restart of this one: they are neither stored nor sent. */
int64_t rowlock__now_ms(void);

/* `from`, which is not negative, + `duration_ms`; a duration < 0 gives ROWLOCK_NEVER. Saturates. */
int64_t rowlock__after(int64_t from, int64_t duration_ms);

/* `to` - `from`, of any two times: a row may hold anything. Saturates. */
int64_t rowlock__between(int64_t from, int64_t to);

/* The smaller, and the larger, of two times or durations. */
int64_t rowlock__least(int64_t a, int64_t b);
int64_t rowlock__most(int64_t a, int64_t b);

/* The timeout with which poll() returns at the deadline: -1 for ROWLOCK_NEVER, at most INT_MAX. */
int rowlock__poll_timeout(int64_t deadline_ms);

/* Whether poll() reports `fd` within `wait_ms` (-1: waits until it does). Also true at its end and
   after an error, which the next read() returns. A signal handler ends the wait: false. */
int rowlock__is_readable(int fd, int wait_ms);

/* Why a wait has ended. */
enum rowlock_wake { ROWLOCK_WAKE_READY, ROWLOCK_WAKE_DEADLINE, ROWLOCK_WAKE_INTERRUPT };

/*
 * Waits until `fd` (-1: none) has one of the poll() `events`, `interrupt_fd` (-1: none) becomes
 * readable, or the deadline passes. An interrupt has priority over readiness. Signal handlers do
 * not end the wait. READY also after an error of `fd` or of poll(): the caller's next call on it
 * fails.
 */
enum rowlock_wake rowlock__wait_fd(int fd, short events, int interrupt_fd, int64_t deadline_ms);

/* ---- pauses ---------------------------------------------------------------------------------- */

/* Backoff: pauses that grow, with jitter, for conditions that can only be polled. */

/* The next pause lasts between half of next_ms and next_ms, a different time in each process. After
   it next_ms grows by half, to at most most_ms. */
struct rowlock_pause {
    int64_t next_ms, most_ms;
    uint32_t seed; /* of the jitter; 0: the first pause seeds it */
};

#define ROWLOCK_PAUSE_SQLITE        \
    {                               \
        .next_ms = 1, .most_ms = 20 \
    } /* another process's write lock */
#define ROWLOCK_PAUSE_LEASE           \
    {                                 \
        .next_ms = 10, .most_ms = 250 \
    } /* a wait for a lease, or before a statement is repeated */

/* Sleeps once, at most until the deadline. READY: the pause has ended, perhaps at the deadline;
   DEADLINE: the deadline had passed before it began, so it did not sleep; INTERRUPT: interrupt_fd
   (-1: none) is readable. */
enum rowlock_wake rowlock__pause(struct rowlock_pause *pause, int interrupt_fd,
                                 int64_t deadline_ms);

#endif
