/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the second floor share about jobs. */
#ifndef ROWLOCK_JOB_H
#define ROWLOCK_JOB_H

#include "driver/driver.h"
#include "rowlock.h"

#define ROWLOCK_JOB_PREFIX "job:"

/* EINVAL: it is none that has room for the prefix. */
/* The result's outcome, resolved: DONE, FAILED, TIMEDOUT, LOST or NOTSTARTED. EINVAL: it names another.
   `what` is what it is the result of, for the error. */
int rowlock__result_outcome(const struct rowlock_result *result, const char *what,
                            enum rowlock_run_outcome *out, struct rowlock_error *error);
/* As the table run has it. */
const char *rowlock__outcome_text(enum rowlock_run_outcome outcome);
enum rowlock_run_outcome rowlock__outcome_of_text(const char *text);

int rowlock__job_name_check(const char *name, struct rowlock_error *error);

#endif
