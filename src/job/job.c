/* SPDX-License-Identifier: Apache-2.0 */
#include "job/job.h"

#include <string.h>

#include "lock/wants.h"
#include "util/error.h"

int rowlock__job_name_check(const char *name, struct rowlock_error *error)
{
    size_t most = ROWLOCK_NAME_MAX - strlen(ROWLOCK_JOB_PREFIX);

    if (!name || !*name || strlen(name) > most)
        return rowlock__fail(error, ROWLOCK_EINVAL, "a job's name has 1 to %zu bytes", most);
    return rowlock__name_check(name, error);
}
