/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a job, and of its lock. The library checks the name, too, but only once it is
   connected. */
#ifndef ROWLOCK_JOB_NAME_H
#define ROWLOCK_JOB_NAME_H

#include <stddef.h>

#define JOB_LOCK_PREFIX "job:" /* the name that a job locks is this and the job's name */

/* 0, or -1 and why: not a valid name of a job, which is UTF-8 of 1 to 251 bytes. */
int job_name_check(const char *name, char *why, size_t size);

#endif
