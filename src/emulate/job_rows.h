/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of jobs and runs, as src/emulate/ reads them: job.c decides by them, job_list.c lists
   them. Reading locks nothing. */
#ifndef ROWLOCK_EMULATE_JOB_ROWS_H
#define ROWLOCK_EMULATE_JOB_ROWS_H

#include "dialect/job.h"
#include "dialect/outcome.h"
#include "emulate/names.h"

#define ROWLOCK_RUN_COUNTS ROWLOCK_RUN_NOTSTARTED /* DONE to NOTSTARTED */

/* The types of a column's kind: text, number, outcome. */
typedef const char *rowlock_column_text;
typedef int64_t rowlock_column_number;
typedef enum rowlock_run_outcome rowlock_column_outcome;

/* A member for each column of the lists in dialect/job.h. Times are milliseconds since 1970 by the
   database's clock. Texts are of the rows (util/rows.h); the name and the job are keys (key.c). */
#define ROWLOCK_XX(kind, column) rowlock_column_##kind column;
struct rowlock_job_row {
    ROWLOCK_JOB_ROW(ROWLOCK_XX)
    /* for a list, not read: */
    enum rowlock_run_outcome shown; /* of the run under way */
    int64_t now_ms, done, average_ms, since;
};
struct rowlock_run_row {
    ROWLOCK_RUN_ROW(ROWLOCK_XX)
};
#undef ROWLOCK_XX

/* One job, or all (key NULL), by name: rows of struct rowlock_job_row. The functions below add rows
   of struct rowlock_run_row. The caller has set the rows' size, and clears them, also after an
   error. */
int rowlock__read_jobs(struct rowlock_work *work, const char *key, struct rowlock_rows *rows);
/* The runs of a job, or of all (key NULL), latest first. */
int rowlock__read_runs(struct rowlock_work *work, const char *key, struct rowlock_rows *rows);
/* The same with their tokens alone; the other members are zeroed. */
int rowlock__read_run_tokens(struct rowlock_work *work, const char *key, struct rowlock_rows *rows);
/* The run of a token: no row or one. */
int rowlock__read_run(struct rowlock_work *work, int64_t token, struct rowlock_rows *rows);

#endif
