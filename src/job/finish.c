/* SPDX-License-Identifier: Apache-2.0 */
/* rowlock_finish: releases a run's lease and records its result, in one transaction. */
#include <string.h>

#include "job/job.h"
#include "lease/lease.h"
#include "util/error.h"
#include "util/utf8.h"

#define OUTPUT_MOST 2048

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
    return ROWLOCK_OK;
}

/* The end of the output is kept; it begins with a whole character. A byte that is not UTF-8 must
   not keep the run's end from being recorded. */
int rowlock_finish(struct rowlock_lease *lease, const struct rowlock_result *result,
                   struct rowlock_error *error)
{
    char output[OUTPUT_MOST + 1];
    enum rowlock_run_outcome outcome;
    const char *from;
    size_t length;
    int code = check(lease, result, error);

    if (!code)
        code = rowlock__result_outcome(result, lease->name[0], &outcome, error);
    if (code)
        return code;
    if (result->output) {
        length = strlen(result->output);
        from = result->output + (length > OUTPUT_MOST ? length - OUTPUT_MOST : 0);
        for (int i = 0; from != result->output && ((unsigned char)*from & 0xC0) == 0x80 && i < 3;
             i++)
            from++;
        rowlock__utf8_copy(output, sizeof output, from);
    }
    return rowlock__end_lease(
        lease, ROWLOCK_SQL_JOB_FINISH,
        (struct rowlock_value[]){
            rowlock__int_value(lease->token), rowlock__text_value(rowlock_outcome_text(outcome)),
            rowlock__int_value(result->exit), rowlock__text_value(result->output ? output : NULL),
            rowlock__session_of(lease)},
        error);
}
