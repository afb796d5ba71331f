/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the rows of jobs and runs. */
#include <stdlib.h>
#include <string.h>

#include "dialect/outcome.h"
#include "rows/jobs.h"

/* name, version, schedule, due, last_due, repeats, failed, running, the counts, last_success */
static void job_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_rows *rows = data;
    struct rowlock_job_row *row = n < 16 ? NULL : rowlock__rows_add(rows);

    if (!row)
        return;
    *row = (struct rowlock_job_row){.key = rowlock__copy_text(rows, &columns[0]),
                                    .version = rowlock__value_number(&columns[1]),
                                    .schedule = rowlock__copy_text(rows, &columns[2]),
                                    .due_ms = rowlock__value_number(&columns[3]),
                                    .last_ms = rowlock__value_number(&columns[4]),
                                    .repeats = rowlock__value_number(&columns[5]),
                                    .failed_ms = rowlock__value_number(&columns[6]),
                                    .running = rowlock__value_number(&columns[7]),
                                    .succeeded_ms = rowlock__value_number(&columns[15])};
    for (int i = 0; i < ROWLOCK_RUN_COUNTS; i++)
        row->runs[i] = rowlock__value_number(&columns[8 + i]);
}

/* token, job, node, pid, due, repeats, started, taken_until, finished, outcome, exit, output,
   now_ms */
static void run_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_rows *rows = data;
    struct rowlock_run_row *row = n < 13 ? NULL : rowlock__rows_add(rows);

    if (row)
        *row = (struct rowlock_run_row){.token = rowlock__value_number(&columns[0]),
                                        .job = rowlock__copy_text(rows, &columns[1]),
                                        .node = rowlock__copy_text(rows, &columns[2]),
                                        .pid = rowlock__value_number(&columns[3]),
                                        .due_ms = rowlock__value_number(&columns[4]),
                                        .repeats = rowlock__value_number(&columns[5]),
                                        .started_ms = rowlock__value_number(&columns[6]),
                                        .taken_until_ms = rowlock__value_number(&columns[7]),
                                        .finished_ms = rowlock__value_number(&columns[8]),
                                        .outcome = rowlock__outcome_value(columns[9]),
                                        .exit = rowlock__value_number(&columns[10]),
                                        .output = rowlock__copy_text(rows, &columns[11]),
                                        .now_ms = rowlock__value_number(&columns[12])};
}

enum rowlock_run_outcome rowlock__outcome_value(struct rowlock_value value)
{
    return rowlock__outcome_of(value.bytes, value.type == ROWLOCK_BYTES ? value.length : 0);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct rowlock_job_row *)a)->key,
                  ((const struct rowlock_job_row *)b)->key);
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
