/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs and their runs, as tables for people, JSON for scripts, and one line for monitoring. */
#ifndef ROWLOCK_JOBS_PRINT_H
#define ROWLOCK_JOBS_PRINT_H

#include <stdio.h>

#include "command/output/table.h"
#include "rowlock.h"

/* A run without a lease has ended: it is shown as the last one, even before a node
   has recorded it. */
struct rowlock_job_view settled(const struct rowlock_job_view *job);

struct table jobs_table(void);
/* Of a settled view. Nonzero: out of memory. */
int jobs_table_add(struct table *table, const struct rowlock_job_view *job);
struct table runs_table(void);
int runs_table_add(struct table *table, const struct rowlock_run *run);

/* The members of a settled view, and of a run, without braces. */
void put_job(FILE *out, const struct rowlock_job_view *job);
void put_run(FILE *out, const struct rowlock_run *run);

/* "done", "exit 7", "timed out", "-"; malloc'd, NULL: out of memory. */
char *run_result(const struct rowlock_run *run);

/* Whether the run has a duration and an exit status: a lost run has none. */
int has_ended(const struct rowlock_run *run);

/* Its lines, indented, without control characters. */
void print_output(const char *output);

/* ---- monitoring ---------------------------------------------------------------------- */

#define JOB_HEALTHS (ROWLOCK_HEALTH_LOST + 1)

/* The words of enum rowlock_health. */
extern const char *const job_healths[JOB_HEALTHS];

#endif
