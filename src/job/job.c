/* SPDX-License-Identifier: Apache-2.0 */
/* Names of jobs, and the outcomes of results. */
#include "job/job.h"

#include <string.h>

#include "dialect/outcome.h"
#include "lock/wants.h"
#include "util/error.h"

int rowlock__result_outcome(const struct rowlock_result *result, const char *what,
                            enum rowlock_run_outcome *out, struct rowlock_error *error)
{
    int outcome = (int)result->outcome;

    if (outcome == ROWLOCK_RUN_RUNNING)
        outcome = result->timed_out ? ROWLOCK_RUN_TIMEDOUT
                  : result->exit    ? ROWLOCK_RUN_FAILED
                                    : ROWLOCK_RUN_DONE;
    if (!rowlock__is_reported(outcome))
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "'%.100s': outcome %d is not a result that can be reported", what,
                             outcome);
    *out = (enum rowlock_run_outcome)outcome;
    return ROWLOCK_OK;
}

int rowlock__job_name_check(const char *name, struct rowlock_error *error)
{
    size_t most = ROWLOCK_NAME_MAX - strlen(ROWLOCK_JOB_PREFIX);

    if (!name || !*name || strlen(name) > most)
        return rowlock__fail(error, ROWLOCK_EINVAL, "a job's name has 1 to %zu bytes", most);
    return rowlock__name_check(name, error);
}
