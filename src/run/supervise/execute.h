/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command under a lock that was acquired: the entrance of this folder for the verbs run,
   job, refresh and use, after acquire() (holding.h). */
#ifndef ROWLOCK_EXECUTE_H
#define ROWLOCK_EXECUTE_H

#include "run/supervise/holding.h"

struct descriptors;

/* How it went, for the exit status and for --report. */
struct outcome {
    int acquired, lost;
    int stuck;                /* the connection's thread hangs in the client library */
    int64_t waited_ms, token; /* token 0: none */
    int status;               /* -N: by signal N */
};

/* Runs the command under the lock, releases the lock, prints errors, and sets outcome->status, lost
   and stuck. Stuck: `holding` is in use, so end with _exit(). */
int execute(const struct run *run, struct signals *signals, const struct descriptors *callers,
            struct holding *holding, struct outcome *outcome);

/* ---- report.c -------------------------------------------------------------------------------- */

/* Opens the file of --report. -1: failed, with a message. */
int report_open(const char *path);
/* Writes one line of JSON. A failure only prints a message. */
void report_write(int fd, const struct outcome *outcome, const struct lock_options *lock);

#endif
