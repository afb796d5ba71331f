/* SPDX-License-Identifier: Apache-2.0 */
/* Claims, finishes and reads jobs. */
#ifndef TEST_JOBS_H
#define TEST_JOBS_H

#include "lib/test.h"

/* A job that is due once, now, with an hour's ttl. Its schedule is parsed once and never freed. */
struct rowlock_job t_daily_job(const char *name);
/* "job:NAME" */
const char *t_job_lock(const struct rowlock_job *job);
/* One call of rowlock_claim, which must not fail; `lease` is NULL if it did not claim a run. */
struct rowlock_claim t_claim(struct rowlock_connection *connection, const struct rowlock_job *job,
                             struct rowlock_lease **lease);
/* The same; it must claim a run. */
struct rowlock_lease *t_claimed(struct rowlock_connection *connection,
                                const struct rowlock_job *job);
/* Finishes the run with this exit status and output (may be NULL), and frees its lease. */
void t_finish(struct rowlock_lease *lease, int status, const char *output);
/* Sets the job's due time to `ms` from now, by the database's clock. */
void t_job_is_due_in(struct rowlock_connection *connection, const char *name, long long ms);

/* The state of the job in the database. */
struct job_seen {
    int runs, running;                /* rows of its history; those without an end */
    int64_t token;                    /* the run that the job's row names as running; 0: none */
    int64_t newest;                   /* the token of the latest run */
    enum rowlock_run_outcome outcome; /* of the latest run */
    int exit, retry_number;
    long leases; /* leases on the job's name */
};
struct job_seen t_job_seen(struct rowlock_connection *connection, void *hand,
                           const struct rowlock_job *job);
/* Asserts that no lease exists without its run, and no live run without its lease; returns 1 if
   it runs. */
int t_job_runs(struct rowlock_connection *connection, void *hand, const struct rowlock_job *job);

/* The column of a job's row with its last due time. */
const char *t_last_due(void);

#endif
