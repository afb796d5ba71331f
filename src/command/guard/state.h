/* SPDX-License-Identifier: Apache-2.0 */
/* The guard process while it watches the command. Private to this folder. */
#ifndef ROWLOCK_GUARD_STATE_H
#define ROWLOCK_GUARD_STATE_H

#include "command/guard/guard.h"

struct guard_state {
    const struct guard_plan *plan;
    int fd, timer_fd, child_fd;
    int begin_fd; /* the command's process waits for a byte from it, or its end */
    pid_t command;
    int began;       /* it may have executed */
    int reaped, how; /* the command */
    int64_t end_ms;  /* the lock is certain until then */
    int64_t over_ms; /* max_run_ms has passed then */
    int ending, orphaned;
    enum guard_cause cause;
    int64_t kill_ms; /* while ending */
    int looks;       /* since KILL, at which nothing had ended */
    int stopped;     /* the command */
    struct stand_in stand_in;
};

/* Watches the command and every descendant until all have ended, or cannot be
   ended: the survivors. */
struct tree guard_watch(struct guard_state *state);
/* When the guard begins to end the command. */
int64_t guard_stop_ms(const struct guard_state *state);
void guard_report_event(const struct guard_state *state, enum guard_event event, int number);

#endif
