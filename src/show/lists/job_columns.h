/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs and their runs, as tables for people and JSON for scripts. */
#ifndef ROWLOCK_JOB_COLUMNS_H
#define ROWLOCK_JOB_COLUMNS_H

#include <stdio.h>

#include "command/output/table.h"
#include "rowlock.h"

struct table jobs_table(void);
/* Of a settled view. Nonzero: out of memory. */
int jobs_table_add(struct table *table, const struct rowlock_job_view *job);
struct table runs_table(void);
int runs_table_add(struct table *table, const struct rowlock_run *run);

/* The members of a settled view, and of a run, without braces. */
void put_job(FILE *out, const struct rowlock_job_view *job);
void put_run(FILE *out, const struct rowlock_run *run);

/* Its lines, indented, without control characters. */
void print_output(const char *output);

#endif
