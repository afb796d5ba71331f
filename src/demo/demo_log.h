/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that the program and the workers of `rowlock demo` share. It is allocated before the
 * fork, written without a lock (each writer has a place of its own), and read after all have ended.
 */
#ifndef ROWLOCK_DEMO_LOG_H
#define ROWLOCK_DEMO_LOG_H

#include <stdatomic.h>
#include <stdint.h>
#include <stddef.h>

#include "rowlock.h"

/* For rowlock_open: the processes of a demonstration connect at the same time, and on a jdbc: URL
   each of them starts a Java virtual machine. */
#define DEMO_OPTIONS ((const struct rowlock_options){.connect_ms = 60000, .statement_ms = 30000})

/* Runs the function in a process of its own, and returns its exit status: a Java virtual machine of
   a jdbc: URL would not survive the fork of the processes that come later. */
int demo_apart(int (*function)(void *data), void *data);

/* Checks that the processes can use the database and lock the name, so that an error is printed
   once, not by each. An exit status. */
struct url;
int demo_try(const struct url *url, const char *name);

/* ---- the log of the workers ------------------------------------------------------------------ */

#define DEMO_NAME "BondBO:DK0015966592" /* that the workers lock */

/* RELEASED is logged before COMMIT, which releases the lock, and DONE after it. */
enum demo_event { DEMO_STARTED, DEMO_WAITING, DEMO_ACQUIRED, DEMO_RELEASED, DEMO_DONE, DEMO_NOTE };

/* One event. */
struct demo_item {
    int64_t ns; /* by the monotonic clock of the machine; 0: the place is empty */
    int worker; /* 0: the program */
    enum demo_event event;
    const char *note; /* a constant, so that it means the same in every process */
};

struct demo_log {
    int64_t start_ns;
    atomic_size_t used; /* places that were given out, perhaps more than there are */
    atomic_int failed;  /* the first worker that failed, and why; 0: none */
    struct rowlock_error error;
    size_t size; /* places */
    struct demo_item items[];
};

/* A hand-over is the time from a release to the next acquisition; an overlap is an acquisition
   before the release of the previous holder, which must not happen. */
struct demo_result {
    size_t hand_overs, overlaps;
    double median_ms, worst_ms;
};

/* NULL: no memory. Call it before the fork. */
struct demo_log *demo_log_new(int workers);
void demo_log_free(struct demo_log *log);
/* Adds an event of this moment; drops it if there is no place. */
void demo_add(struct demo_log *log, int worker, enum demo_event event, const char *note);
/* Records a failure; only the first one counts. */
void demo_fail(struct demo_log *log, int worker, const struct rowlock_error *error);

/* Sorts the events by time. Call it after all workers have ended. */
void demo_sort(struct demo_log *log);
/* To standard output: a line for each event, separated by tabs; as JSON without the notes. */
void demo_print(const struct demo_log *log, int json);
/* Compares every acquisition with the release before it. 0, or -1: out of memory. */
int demo_judge(const struct demo_log *log, struct demo_result *result);

#endif
