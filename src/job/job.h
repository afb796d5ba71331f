/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files about jobs: names and outcomes. decide.h decides what a node does about a
   job, claim.c and finish.c carry it out, list.c, history.c and trouble.c read. */
#ifndef ROWLOCK_JOB_H
#define ROWLOCK_JOB_H

#include "driver/driver.h"
#include "rowlock.h"

/* Resolves the result's outcome: DONE, FAILED, TIMEDOUT, LOST or NOTSTARTED. RUNNING, the zero of a
   result that does not state one, follows from its exit status and timed_out. EINVAL: another one.
   `what` names the job or subject in the error. */
int rowlock__result_outcome(const struct rowlock_result *result, const char *what,
                            enum rowlock_run_outcome *out, struct rowlock_error *error);
/* EINVAL: not a name, or too long with the prefix of a job's lock ("job:"). */
int rowlock__job_name_check(const char *name, struct rowlock_error *error);

/* Adds the job of a row of job_list (dialect/job.h) to `rows` (util/rows.h). */
void rowlock__job_row(void *rows, const struct rowlock_value *columns, unsigned n);

#endif
