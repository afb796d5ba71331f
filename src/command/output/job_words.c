/* SPDX-License-Identifier: Apache-2.0 */
#include "command/output/job_words.h"

#include <stdio.h>
#include <string.h>

const char *const job_healths[] = {
    [ROWLOCK_HEALTH_FINE] = "fine",       [ROWLOCK_HEALTH_PAUSED] = "paused",
    [ROWLOCK_HEALTH_SLOW] = "slow",       [ROWLOCK_HEALTH_LATE] = "late",
    [ROWLOCK_HEALTH_FAILING] = "failing", [ROWLOCK_HEALTH_LOST] = "lost"};

struct rowlock_job_view settled(const struct rowlock_job_view *job)
{
    struct rowlock_job_view view = *job;

    if (!view.running.token || view.running.outcome == ROWLOCK_RUN_RUNNING)
        return view;
    view.last = view.running;
    view.running.token = 0;
    return view;
}

char *run_result(const struct rowlock_run *run)
{
    char *text;

    if (!run->token)
        return strdup("-");
    if (run->outcome != ROWLOCK_RUN_FAILED)
        return strdup(rowlock_outcome_text(run->outcome));
    return asprintf(&text, "exit %d", run->exit) < 0 ? NULL : text;
}

int has_ended(const struct rowlock_run *run)
{
    return run->token && run->finished_ms > 0 && run->outcome != ROWLOCK_RUN_LOST &&
           run->outcome != ROWLOCK_RUN_NOTSTARTED;
}
