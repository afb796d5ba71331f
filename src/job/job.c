/* SPDX-License-Identifier: Apache-2.0 */
/* Names of jobs, and the outcomes of runs. */
#include "job/job.h"

#include <stdbool.h>
#include <string.h>

#include "lock/wants.h"
#include "util/error.h"

/* Outcomes of a run. `text`: as in the table run. `reported`: by the result; otherwise set by the
   database. */
static const struct {
    const char *text;
    bool reported;
} outcomes[] = {
    [ROWLOCK_RUN_RUNNING] = {"running", false}, [ROWLOCK_RUN_DONE] = {"done", true},
    [ROWLOCK_RUN_FAILED] = {"failed", true},    [ROWLOCK_RUN_TIMEDOUT] = {"timed out", true},
    [ROWLOCK_RUN_BROKEN] = {"broken", false},   [ROWLOCK_RUN_LOST] = {"lost", true},
    [ROWLOCK_RUN_LATE] = {"late", false},       [ROWLOCK_RUN_NOTSTARTED] = {"not started", true},
};
enum { OUTCOMES = sizeof outcomes / sizeof *outcomes };

const char *rowlock__outcome_text(enum rowlock_run_outcome outcome)
{
    return outcomes[outcome].text;
}

enum rowlock_run_outcome rowlock__outcome_of_text(const char *text)
{
    for (int i = 0; i < OUTCOMES; i++)
        if (strcmp(text, outcomes[i].text) == 0)
            return (enum rowlock_run_outcome)i;
    return ROWLOCK_RUN_LOST;
}

int rowlock__result_outcome(const struct rowlock_result *result, const char *what,
                            enum rowlock_run_outcome *out, struct rowlock_error *error)
{
    int outcome = (int)result->outcome;

    if (outcome == ROWLOCK_RUN_RUNNING)
        outcome = result->timed_out ? ROWLOCK_RUN_TIMEDOUT
                  : result->exit    ? ROWLOCK_RUN_FAILED
                                    : ROWLOCK_RUN_DONE;
    if (outcome < 0 || outcome >= OUTCOMES || !outcomes[outcome].reported)
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
