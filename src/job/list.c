/* SPDX-License-Identifier: Apache-2.0 */
/* Lists jobs and their runs. Reads all rows first, so that the callback may use the connection. */
#include <stdbool.h>

#include "dialect/outcome.h"
#include "job/job.h"
#include "lease/lease.h"
#include "lease/query.h"
#include "schema/check.h"
#include "session/connection.h"
#include "util/error.h"

/* ---- a row ----------------------------------------------------------------------------------- */

static enum rowlock_run_outcome outcome_of(const struct rowlock_value *column)
{
    bool is_text = column->type == ROWLOCK_BYTES;

    return rowlock__outcome_of(column->bytes, is_text ? column->length : 0);
}

/* token, node, pid, due, repeats, started */
static struct rowlock_run run_of(struct rowlock_rows *rows, const struct rowlock_value *columns)
{
    return (struct rowlock_run){.token = rowlock__value_number(&columns[0]),
                                .node = rowlock__rows_text(rows, &columns[1]),
                                .pid = rowlock__value_number(&columns[2]),
                                .due_ms = rowlock__value_number(&columns[3]),
                                .retry_number = (int)rowlock__value_number(&columns[4]),
                                .started_ms = rowlock__value_number(&columns[5]),
                                .output = "",
                                .job = ""};
}

/* the same, finished, outcome, exit, output */
static struct rowlock_run ended_run_of(struct rowlock_rows *rows,
                                       const struct rowlock_value *columns)
{
    struct rowlock_run run = run_of(rows, columns);

    run.finished_ms = rowlock__value_number(&columns[6]);
    run.outcome = outcome_of(&columns[7]);
    run.exit = (int)rowlock__value_number(&columns[8]);
    run.output = rowlock__rows_text(rows, &columns[9]);
    return run;
}

void rowlock__job_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_rows *rows = data;
    struct rowlock_job_view *job = n < 40 ? NULL : rowlock__rows_add(rows);

    if (!job)
        return;
    *job = (struct rowlock_job_view){.name = rowlock__rows_text(rows, &columns[0]),
                                     .schedule = rowlock__rows_text(rows, &columns[1]),
                                     .now_ms = rowlock__value_number(&columns[2]),
                                     .next_ms = rowlock__value_number(&columns[3]),
                                     .running = run_of(rows, &columns[4]),
                                     .last = ended_run_of(rows, &columns[11]),
                                     .runs = rowlock__value_number(&columns[21]),
                                     .average_ms = rowlock__value_number(&columns[22]),
                                     .failed_since_ms = rowlock__value_number(&columns[23])};
    job->running.outcome = outcome_of(&columns[10]);
    job->running.finished_ms = rowlock__value_number(&columns[24]);
    job->running.exit = (int)rowlock__value_number(&columns[25]);
    job->running.output = rowlock__rows_text(rows, &columns[26]);
    job->paused_token = rowlock__value_number(&columns[27]);
    job->paused_by = rowlock__rows_text(rows, &columns[28]);
    job->paused_note = rowlock__rows_text(rows, &columns[29]);
    job->paused_since_ms = rowlock__value_number(&columns[30]);
    job->paused_until_ms = rowlock__value_number(&columns[31]);
    for (int i = ROWLOCK_RUN_DONE; i <= ROWLOCK_RUN_NOTSTARTED; i++)
        job->ended[i] = rowlock__value_number(&columns[31 + i]);
    job->succeeded_ms = rowlock__value_number(&columns[39]);
    job->running.job = job->last.job = job->name;
}

static void run_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_rows *rows = data;
    struct rowlock_run *run = n < 10 ? NULL : rowlock__rows_add(rows);

    if (run)
        *run = ended_run_of(rows, columns);
}

/* ---- the calls ------------------------------------------------------------------------------- */

static int ask(struct rowlock_connection *connection, enum rowlock_statement_id id,
               const char *name, bool has_visitor, rowlock_row *row, struct rowlock_rows *rows,
               struct rowlock_error *error)
{
    struct rowlock_value value = rowlock__text_value(name);
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code && name)
        code = rowlock__job_name_check(name, error);
    if (!code)
        code = rowlock__list_check(connection, has_visitor, error);
    if (!code)
        code = rowlock__ask(connection, id, &value, row, rows, error);
    return rowlock__list_result(rows, code, error);
}

int rowlock_jobs(struct rowlock_connection *connection, const char *name, rowlock_visit_job visit,
                 void *data, struct rowlock_error *error)
{
    struct rowlock_rows rows = {.size = sizeof(struct rowlock_job_view)};
    int code =
        ask(connection, ROWLOCK_SQL_JOB_LIST, name, visit != NULL, rowlock__job_row, &rows, error);
    const struct rowlock_job_view *job = rows.row;

    for (size_t i = 0; !code && i < rows.n; i++)
        if (visit(&job[i], data))
            break;
    rowlock__rows_clear(&rows);
    return code;
}

int rowlock_runs(struct rowlock_connection *connection, const char *name, rowlock_visit_run visit,
                 void *data, struct rowlock_error *error)
{
    struct rowlock_rows rows = {.size = sizeof(struct rowlock_run)};
    int code = ask(connection, ROWLOCK_SQL_RUN_LIST, name ? name : "", visit != NULL, run_row,
                   &rows, error);
    struct rowlock_run *run = rows.row;

    for (size_t i = 0; !code && i < rows.n; i++) {
        run[i].job = name;
        if (visit(&run[i], data))
            break;
    }
    rowlock__rows_clear(&rows);
    return code;
}

int rowlock_forget_job(struct rowlock_connection *connection, const char *name,
                       struct rowlock_error *error)
{
    struct rowlock_value value = rowlock__text_value(name);
    int64_t answer = 0;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code)
        code = rowlock__job_name_check(name, error);
    if (!code)
        code = rowlock__check_present(connection, error);
    if (!code)
        code = rowlock__ask_alone(connection, ROWLOCK_SQL_JOB_FORGET, &value, false,
                                  rowlock__take_number, &answer, error);
    if (!code && answer == 2)
        code = rowlock__fail(
            error, ROWLOCK_EBUSY,
            "the job '%.100s' runs: forget it when it has ended, or break its lease", name);
    return code;
}
