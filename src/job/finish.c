/* SPDX-License-Identifier: Apache-2.0 */
/* rowlock_finish: releases a run's lease and records its result, in one transaction. */
#include <string.h>

#include "job/job.h"
#include "lease/lease.h"
#include "util/error.h"
#include "util/utf8.h"

#define OUTPUT_MOST 2048

/* The end of the output that is kept; it begins with a whole character. */
static const char *end_of(const char *output)
{
    size_t length = output ? strlen(output) : 0;
    const char *from = output;

    if (length > OUTPUT_MOST)
        from += length - OUTPUT_MOST;
    while (from && from != output && ((unsigned char)*from & 0xC0) == 0x80)
        from++;
    return from;
}

static int check(const struct rowlock_lease *lease, const struct rowlock_result *result,
                 struct rowlock_error *error)
{
    if (!lease)
        return rowlock__no_lease(error);
    if (lease->n != 1 ||
        strncmp(lease->name[0], ROWLOCK_JOB_PREFIX, strlen(ROWLOCK_JOB_PREFIX)) != 0)
        return rowlock__fail(
            error, ROWLOCK_EINVAL,
            "'%.100s' is not the lease of a job: release it instead of finishing it",
            lease->name[0]);
    if (!result)
        return rowlock__fail(error, ROWLOCK_EINVAL, "'%.100s': the result is NULL", lease->name[0]);
    if (result->output && rowlock__utf8_length(result->output, strlen(result->output)) < 0)
        return rowlock__fail(error, ROWLOCK_EINVAL, "'%.100s': the output is not UTF-8",
                             lease->name[0]);
    return ROWLOCK_OK;
}

int rowlock_finish(struct rowlock_lease *lease, const struct rowlock_result *result,
                   struct rowlock_error *error)
{
    enum rowlock_run_outcome outcome;
    int code = check(lease, result, error);

    if (!code)
        code = rowlock__result_outcome(result, lease->name[0], &outcome, error);
    if (code)
        return code;
    return rowlock__end_lease(
        lease, ROWLOCK_SQL_JOB_FINISH,
        (struct rowlock_value[]){
            rowlock__int_value(lease->token), rowlock__text_value(rowlock_outcome_text(outcome)),
            rowlock__int_value(result->exit), rowlock__text_value(end_of(result->output))},
        error);
}
