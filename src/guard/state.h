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
    int64_t kill_ms; /* while ending: the time of the next KILL; then, of the next look */
    int kills;       /* looks since KILL */
    int looks;       /* consecutive ones that found no process that it could end */
    int over;        /* while ending: the lock has ended */
    int passed;      /* a signal that ends was passed on to the command */
    int kept;        /* rowlock keeps the lock for the survivors */
    struct tree left;
    int stopped; /* the command is stopped */
    struct stand_in stand_in;
};

/* ---- watch.c --------------------------------------------------------------------------------- */

/* Watches the command and every descendant until all have ended, or the lock has. `left` has those
   that it could not end. */
void guard_watch(struct guard_state *state);
/* When the guard begins to end the command. */
int64_t guard_stop_ms(const struct guard_state *state);

/* ---- children.c ------------------------------------------------------------------------------ */

/* Notes every process that has ended. 1: no child is left, and so no descendant, for orphans become
   children of the guard. */
int guard_reap(struct guard_state *state);
/* Sends a report to rowlock. Never blocks; a report that does not fit is lost. */
void guard_report_event(const struct guard_state *state, enum guard_event event, int number);

/* ---- end.c ----------------------------------------------------------------------------------- */

/* The command's process group; 0 after its end was collected, because the kernel may then give the
   number to another group. */
pid_t guard_group(const struct guard_state *state);
void guard_close_begin(struct guard_state *state);
/* Sends TERM once: a cleanup process that the command starts afterwards lives until KILL. */
void guard_begin_ending(struct guard_state *state, enum guard_cause cause);
/* Sends KILL to all. Called repeatedly, because a process may start between two looks. */
void guard_kill(struct guard_state *state);
/* Whether nothing is left to watch. `alone`: the result of guard_reap(). */
int guard_is_done(struct guard_state *state, int alone);

#endif
