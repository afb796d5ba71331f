/* SPDX-License-Identifier: Apache-2.0 */
/* The guard process while it watches the command. Private to this folder. */
#ifndef ROWLOCK_GUARD_STATE_H
#define ROWLOCK_GUARD_STATE_H

#include "guard/guard.h"

/* Times are those of clock.h. process.c fills it, watch.c changes it. */
struct guard_state {
    const struct guard_plan *plan;
    int fd, timer_fd, child_fd; /* to rowlock; its next deadline; readable: a child has ended */
    int begin_fd; /* the command's process waits for a byte from here, or for its end */
    pid_t command;
    int began;       /* the command may have started its program */
    int reaped, how; /* the command's end was collected; its wait() status */
    int64_t end_ms;  /* the lock is certain until then */
    int64_t over_ms; /* the time at which max_run_ms has passed */
    int ending;      /* it ends the command */
    int orphaned;    /* rowlock has ended */
    enum guard_cause cause;
    int64_t kill_ms; /* while ending: the time of the next KILL */
    int looks;       /* consecutive looks since KILL that found no process that it could end */
    int stopped;     /* the command is stopped */
    struct stand_in stand_in;
};

/* Watches the command and every descendant until all have ended. Returns those that it could not
   end. */
struct tree guard_watch(struct guard_state *state);
/* When the guard begins to end the command. */
int64_t guard_stop_ms(const struct guard_state *state);
/* Sends a report to rowlock. Never blocks; a report that does not fit is lost. */
void guard_report_event(const struct guard_state *state, enum guard_event event, int number);

#endif
