/* SPDX-License-Identifier: Apache-2.0 */
/* The monotonic clock of this node, and poll() with a deadline by it. */
#include "util/clock.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include "system/system.h"

int64_t rowlock__now_ms(void)
{
    return rowlock__system_ms();
}

int64_t rowlock__after(int64_t from, int64_t duration_ms)
{
    if (duration_ms < 0 || duration_ms > ROWLOCK_NEVER - from)
        return ROWLOCK_NEVER;
    return from + duration_ms;
}

int64_t rowlock__between(int64_t from, int64_t to)
{
    if (from < 0 && to > INT64_MAX + from)
        return INT64_MAX;
    if (from > 0 && to < INT64_MIN + from)
        return INT64_MIN;
    return to - from;
}

int64_t rowlock__least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t rowlock__most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int rowlock__poll_timeout(int64_t deadline_ms)
{
    int64_t left;

    if (deadline_ms == ROWLOCK_NEVER)
        return -1;
    left = deadline_ms - rowlock__now_ms();
    if (left < 0)
        return 0;
    return left > INT_MAX ? INT_MAX : (int)left;
}

int rowlock__is_readable(int fd, int wait_ms)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};

    return poll(&readable, 1, wait_ms) > 0;
}

enum rowlock_wake rowlock__wait_fd(int fd, short events, int interrupt_fd, int64_t deadline_ms)
{
    for (;;) {
        struct pollfd fds[2] = {{.fd = fd, .events = events},
                                {.fd = interrupt_fd, .events = POLLIN}};
        int n = poll(fds, 2, rowlock__poll_timeout(deadline_ms));

        if (n < 0 && errno != EINTR)
            return ROWLOCK_WAKE_READY; /* the reader gets the error */
        if (n > 0 && fds[1].revents)
            return ROWLOCK_WAKE_INTERRUPT;
        if (n > 0 && fds[0].revents)
            return ROWLOCK_WAKE_READY;
        if (deadline_ms != ROWLOCK_NEVER && rowlock__now_ms() >= deadline_ms)
            return ROWLOCK_WAKE_DEADLINE;
    }
}

/* ---- pauses ---------------------------------------------------------------------------------- */

/* Backoff: pauses that grow, with jitter. */

enum rowlock_wake rowlock__pause(struct rowlock_pause *pause, int interrupt_fd, int64_t deadline_ms)
{
    int64_t now = rowlock__now_ms(), until;

    if (now >= deadline_ms)
        return ROWLOCK_WAKE_DEADLINE;
    /* Random half, so that two waiters that wake together do not collide again. */
    if (!pause->seed)
        pause->seed = (uint32_t)now * 2654435761u ^ (uint32_t)getpid() ^ 1u;
    pause->seed = pause->seed * 1664525u + 1013904223u;
    until = now + pause->next_ms - (int64_t)(pause->seed >> 8) % (pause->next_ms / 2 + 1);
    if (until > deadline_ms)
        until = deadline_ms;
    pause->next_ms = pause->next_ms * 3 / 2 + 1;
    if (pause->next_ms > pause->most_ms)
        pause->next_ms = pause->most_ms;
    if (rowlock__wait_fd(-1, 0, interrupt_fd, until) == ROWLOCK_WAKE_INTERRUPT)
        return ROWLOCK_WAKE_INTERRUPT;
    return ROWLOCK_WAKE_READY;
}
