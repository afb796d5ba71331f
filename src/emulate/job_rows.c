/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the rows of jobs and runs. */
#include <stdlib.h>
#include <string.h>

#include "emulate/job_rows.h"

static const char *text_of(struct rowlock_rows *rows, const struct rowlock_value *column)
{
    return rowlock__copy_text(rows, column);
}

static int64_t number_of(struct rowlock_rows *rows, const struct rowlock_value *column)
{
    (void)rows;
    return rowlock__value_number(column);
}

static enum rowlock_run_outcome outcome_of(struct rowlock_rows *rows,
                                           const struct rowlock_value *column)
{
    (void)rows;
    return rowlock__value_outcome(column);
}

#define ROWLOCK_XX(kind, column) row->column = kind##_of(rows, columns++);
static void job_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_rows *rows = data;
    struct rowlock_job_row *row =
        n < ROWLOCK_COUNT_OF(ROWLOCK_JOB_ROW) ? NULL : rowlock__rows_add(rows);

    if (!row)
        return;
    ROWLOCK_JOB_ROW(ROWLOCK_XX)
}

static void run_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_rows *rows = data;
    struct rowlock_run_row *row =
        n < ROWLOCK_COUNT_OF(ROWLOCK_RUN_ROW) ? NULL : rowlock__rows_add(rows);

    if (!row)
        return;
    ROWLOCK_RUN_ROW(ROWLOCK_XX)
}
#undef ROWLOCK_XX

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct rowlock_job_row *)a)->name,
                  ((const struct rowlock_job_row *)b)->name);
}

static int latest_first(const void *a, const void *b)
{
    int64_t left = ((const struct rowlock_run_row *)a)->token;
    int64_t right = ((const struct rowlock_run_row *)b)->token;

    return rowlock__order(right, left);
}

int rowlock__read_jobs(struct rowlock_work *work, const char *key, struct rowlock_rows *rows)
{
    struct rowlock_value value = rowlock__text_value(key);
    int code = rowlock__work_ask(work, key ? ROWLOCK_PLAIN_JOB : ROWLOCK_PLAIN_JOBS, &value,
                                 job_row, rows);

    if (rows->n > 1)
        qsort(rows->row, rows->n, rows->size, by_name);
    return rowlock__rows_complete(rows, code, work->error);
}

int rowlock__read_runs(struct rowlock_work *work, const char *key, struct rowlock_rows *rows)
{
    struct rowlock_value value = rowlock__text_value(key);
    int code = rowlock__work_ask(work, key ? ROWLOCK_PLAIN_RUNS : ROWLOCK_PLAIN_RUNS_ALL, &value,
                                 run_row, rows);

    if (rows->n > 1)
        qsort(rows->row, rows->n, rows->size, latest_first);
    return rowlock__rows_complete(rows, code, work->error);
}

static void token_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_run_row *row = n < 1 ? NULL : rowlock__rows_add(data);

    if (row)
        row->token = rowlock__value_number(&columns[0]);
}

int rowlock__read_run_tokens(struct rowlock_work *work, const char *key, struct rowlock_rows *rows)
{
    struct rowlock_value value = rowlock__text_value(key);
    int code = rowlock__work_ask(work, ROWLOCK_PLAIN_RUN_TOKENS, &value, token_row, rows);

    if (rows->n > 1)
        qsort(rows->row, rows->n, rows->size, latest_first);
    return rowlock__rows_complete(rows, code, work->error);
}

int rowlock__read_run(struct rowlock_work *work, int64_t token, struct rowlock_rows *rows)
{
    struct rowlock_value value = rowlock__int_value(token);
    int code = rowlock__work_ask(work, ROWLOCK_PLAIN_RUN, &value, run_row, rows);

    return rowlock__rows_complete(rows, code, work->error);
}
