/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a job, and of its lock. */
#ifndef ROWLOCK_JOB_NAME_H
#define ROWLOCK_JOB_NAME_H

#include <stddef.h>

#define JOB_LOCK_PREFIX "job:"

/* 0, or -1 and why: not a valid name of a job. */
int job_name_check(const char *name, char *why, size_t size);

#endif
