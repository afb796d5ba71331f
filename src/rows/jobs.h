/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of jobs and runs. */
#ifndef ROWLOCK_ROWS_JOBS_H
#define ROWLOCK_ROWS_JOBS_H

#include "rows/names.h"

#define ROWLOCK_RUN_COUNTS ROWLOCK_RUN_NOTSTARTED /* DONE to NOTSTARTED */

struct rowlock_job_row {
    int64_t version, due_ms, last_ms, repeats, failed_ms, running;
    int64_t runs[ROWLOCK_RUN_COUNTS], succeeded_ms;
    const char *key, *schedule;
};

/* A text in a column or a parameter. */
enum rowlock_run_outcome rowlock__outcome_value(struct rowlock_value value);

struct rowlock_run_row {
    int64_t token, pid, due_ms, repeats, started_ms, taken_until_ms, finished_ms, exit, now_ms;
    enum rowlock_run_outcome outcome;
    const char *job, *node, *output;
};

/* One job, or all (key NULL), by name. The caller clears the rows. */
int rowlock__read_jobs(struct rowlock_work *work, const char *key, struct rowlock_rows *rows);
/* The runs of a job, or of all (key NULL), latest first. */
int rowlock__read_runs(struct rowlock_work *work, const char *key, struct rowlock_rows *rows);
/* Their tokens alone. */
int rowlock__read_run_tokens(struct rowlock_work *work, const char *key, struct rowlock_rows *rows);
/* The run of a token: no row or one. */
int rowlock__read_run(struct rowlock_work *work, int64_t token, struct rowlock_rows *rows);

#endif
