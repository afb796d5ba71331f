/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs as tests of lost replies and of crashes need them: claimed, and looked at in the tables. */
#ifndef TEST_JOBS_H
#define TEST_JOBS_H

#include "lib/test.h"

/* Due once, at once; its name is `name`, its ttl an hour. The schedule is the house's. */
struct rowlock_job t_daily_job(const char *name);
/* "job:NAME", in a buffer of the callee's */
const char *t_job_lock(const struct rowlock_job *job);

/* What the database says of it. */
struct job_seen {
    int runs, running;                /* rows of its history; those that nobody has ended */
    int64_t token;                    /* that the job says is running; 0: none */
    int64_t newest;                   /* the token of the latest run */
    enum rowlock_run_outcome outcome; /* of the latest */
    int exit, retry_number;
    long leases; /* of its name */
};
struct job_seen t_job_seen(struct rowlock_connection *connection, void *hand,
                           const struct rowlock_job *job);
/* Never a lease without its run, nor a run that lives without its lease; 1: it runs. */
int t_job_runs(struct rowlock_connection *connection, void *hand, const struct rowlock_job *job);

const char *t_run_table(void);

#endif
