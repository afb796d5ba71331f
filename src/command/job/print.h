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

/* As JSON and the metrics have it. */
const char *outcome_word(enum rowlock_run_outcome outcome);

/* Whether the run has a duration and an exit status: a lost run has none. */
int has_ended(const struct rowlock_run *run);

/* Its lines, indented, without control characters. */
void print_output(const char *output);

/* ---- monitoring ---------------------------------------------------------------------- */

/* The worse, the greater. Paused is not a trouble: an operator wants it. */
enum job_health { JOB_FINE, JOB_PAUSED, JOB_SLOW, JOB_LATE, JOB_FAILING, JOB_LOST, JOB_HEALTHS };

extern const char *const job_healths[];
/* Of a settled view; `*since_ms`: since when it has that state, 0 if it is fine. */
enum job_health health_of(const struct rowlock_job_view *job, int64_t *since_ms);

#endif
