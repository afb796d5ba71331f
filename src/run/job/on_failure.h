/* SPDX-License-Identifier: Apache-2.0 */
/* --on-failure: a command that runs when the record of a run changes the state of its job. */
#ifndef ROWLOCK_ON_FAILURE_H
#define ROWLOCK_ON_FAILURE_H

#include <signal.h>

#include "command/output/job_words.h"

struct change_hook {
    const char *command; /* for /bin/sh; NULL: none */
    const struct descriptors *callers;
    const sigset_t *mask;
    const struct sigaction *broken_pipe;
};

struct job_change {
    const char *job;
    int64_t token, due_ms;
    enum rowlock_health before, now;
    int found, exit, has_exit;
    char *output;
};

/* Reads what the recorded run `token` means for the state of the job. 1: it changes the state; then
   job_change_run() must follow, which needs no connection. */
int job_change_read(struct rowlock_connection *connection, const char *job, int64_t token,
                    struct job_change *out);
/* Runs the command. `waits`: returns after its end; else init collects its process. */
void job_change_run(const struct change_hook *hook, struct job_change *change, int waits);

#endif
