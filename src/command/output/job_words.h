/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a job and the result of a run in words. */
#ifndef ROWLOCK_OUTPUT_JOB_WORDS_H
#define ROWLOCK_OUTPUT_JOB_WORDS_H

#include "rowlock.h"

#define JOB_HEALTHS (ROWLOCK_HEALTH_LOST + 1)

/* The words of enum rowlock_health. */
extern const char *const job_healths[JOB_HEALTHS];

/* A run without a lease has ended: it is shown as the last one, even before a node
   has recorded it. */
struct rowlock_job_view settled(const struct rowlock_job_view *job);

/* "done", "exit 7", "timed out", "-"; malloc'd, NULL: out of memory. */
char *run_result(const struct rowlock_run *run);

/* Whether the run has a duration and an exit status: a lost run has none. */
int has_ended(const struct rowlock_run *run);

#endif
