/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the second floor share about jobs. */
#ifndef ROWLOCK_JOB_H
#define ROWLOCK_JOB_H

#include "driver/driver.h"
#include "rowlock.h"

#define ROWLOCK_JOB_PREFIX "job:"

/* EINVAL: it is none that has room for the prefix. */
int rowlock__job_name_check(const char *name, struct rowlock_error *error);

#endif
