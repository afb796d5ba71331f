/* SPDX-License-Identifier: Apache-2.0 */
/* Backoff: pauses that grow, with jitter. */
#include "util/pause.h"

#include <unistd.h>

/* Random half, so that two waiters that wake together do not collide again. */
static int64_t jitter(struct rowlock_pause *pause)
{
    if (!pause->seed)
        pause->seed = (uint32_t)rowlock__now_ms() * 2654435761u ^ (uint32_t)getpid() ^ 1u;
    pause->seed = pause->seed * 1664525u + 1013904223u;
    return pause->next_ms - (int64_t)(pause->seed >> 8) % (pause->next_ms / 2 + 1);
}

enum rowlock_wake rowlock__pause(struct rowlock_pause *pause, int interrupt_fd, int64_t deadline_ms)
{
    int64_t now = rowlock__now_ms(), until;

    if (now >= deadline_ms)
        return ROWLOCK_WAKE_DEADLINE;
    until = now + jitter(pause);
    if (until > deadline_ms)
        until = deadline_ms;
    pause->next_ms = pause->next_ms * 3 / 2 + 1;
    if (pause->next_ms > pause->most_ms)
        pause->next_ms = pause->most_ms;
    if (rowlock__wait_fd(-1, 0, interrupt_fd, until) == ROWLOCK_WAKE_INTERRUPT)
        return ROWLOCK_WAKE_INTERRUPT;
    return ROWLOCK_WAKE_READY;
}
