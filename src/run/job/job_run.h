/* SPDX-License-Identifier: Apache-2.0 */
/* A claimed run of a job: a command under the job's lease, whose result is recorded at its end. */
#ifndef ROWLOCK_JOB_RUN_H
#define ROWLOCK_JOB_RUN_H

#include "run/job/on_failure.h"
#include "run/job/settings.h"
#include "run/supervise/holding.h"

struct job_run {
    const char *name;
    struct job_settings settings;
    struct rowlock_schedule *schedule; /* NULL: adopted */
    int64_t token;                     /* of the lease that cron has claimed for us; 0: we claim */
    int64_t due_ms;                    /* of that run */
    int attempt;
    char *url; /* that cron gave us; NULL: none */
    char **argv;
    int conflict; /* exit status if there is nothing to do */
    int verbose;
    struct change_hook hook;
    int recorded; /* this node recorded the result of the run */
    int prefix;   /* the time and `name` before each line of output */

    struct rowlock_want want;
    char lock[256]; /* its name */
};

/* The run for execute(). `verbose` and the other members are set. */
struct run run_of_job(struct job_run *job);

/* Claims the run if it is due. An exit status, or -N: signal N came; `*claimed`: holding->lease is
   set. */
int claim_job(struct job_run *job, const struct signals *signals, struct holding *holding,
              int *claimed);
/* The same for a lease that cron has claimed. */
int adopt_job(struct job_run *job, const struct signals *signals, struct holding *holding,
              int *claimed);

#endif
