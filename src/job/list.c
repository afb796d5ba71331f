/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs and their runs as lists. The rows are gathered first: whoever is told may use the connection. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "job/job.h"
#include "lease/lease.h"
#include "lease/query.h"
#include "schema/check.h"
#include "session/connection.h"
#include "util/error.h"
#include "util/rows.h"

enum { TEXTS = 7 };

struct row {
    struct rowlock_job_view job; /* or, of a history, job.last */
    char *text[TEXTS];
    int texts;
};

/* ---- a row ---------------------------------------------------------------------------------------- */

/* Its copy, which goes with the row; "" for NULL. */
static const char *keep(struct rowlock_rows *rows, struct row *row,
                        const struct rowlock_value *column)
{
    char *copy;

    if (column->type != ROWLOCK_BYTES)
        return "";
    copy = malloc(column->length + 1);
    rows->failed |= !copy;
    if (!copy)
        return "";
    memcpy(copy, column->bytes, column->length);
    copy[column->length] = '\0';
    row->text[row->texts++] = copy;
    return copy;
}

static enum rowlock_run_outcome outcome_of(const struct rowlock_value *column)
{
    char text[16];

    rowlock__column_text(column, text, sizeof text);
    return rowlock__outcome_of_text(text);
}

/* token, node, pid, due, repeats, started */
static struct rowlock_run run_of(struct rowlock_rows *rows, struct row *row,
                                 const struct rowlock_value *columns)
{
    return (struct rowlock_run){.token = rowlock__value_number(&columns[0]),
                                .node = keep(rows, row, &columns[1]),
                                .pid = rowlock__value_number(&columns[2]),
                                .due_ms = rowlock__value_number(&columns[3]),
                                .repeat = (int)rowlock__value_number(&columns[4]),
                                .started_ms = rowlock__value_number(&columns[5]),
                                .output = "",
                                .job = ""};
}

/* the same, finished, outcome, exit, output */
static struct rowlock_run ended_run_of(struct rowlock_rows *rows, struct row *row,
                                       const struct rowlock_value *columns)
{
    struct rowlock_run run = run_of(rows, row, columns);

    run.finished_ms = rowlock__value_number(&columns[6]);
    run.outcome = outcome_of(&columns[7]);
    run.exit = (int)rowlock__value_number(&columns[8]);
    run.output = keep(rows, row, &columns[9]);
    return run;
}

/* name, schedule, now_ms, due; 6 of the run that runs, outcome; 10 of the last one; runs, average_ms,
   failed_since; of the first run, if it has ended: finished, exit, output */
static void job_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_rows *rows = data;
    struct row *row = n < 27 ? NULL : rowlock__rows_add(rows);

    if (!row)
        return;
    row->job = (struct rowlock_job_view){.name = keep(rows, row, &columns[0]),
                                         .schedule = keep(rows, row, &columns[1]),
                                         .now_ms = rowlock__value_number(&columns[2]),
                                         .next_ms = rowlock__value_number(&columns[3]),
                                         .running = run_of(rows, row, &columns[4]),
                                         .last = ended_run_of(rows, row, &columns[11]),
                                         .runs = rowlock__value_number(&columns[21]),
                                         .average_ms = rowlock__value_number(&columns[22]),
                                         .failed_since_ms = rowlock__value_number(&columns[23])};
    row->job.running.outcome = outcome_of(&columns[10]);
    row->job.running.finished_ms = rowlock__value_number(&columns[24]);
    row->job.running.exit = (int)rowlock__value_number(&columns[25]);
    row->job.running.output = keep(rows, row, &columns[26]);
    row->job.running.job = row->job.last.job = row->job.name;
}

static void run_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_rows *rows = data;
    struct row *row = n < 10 ? NULL : rowlock__rows_add(rows);

    if (row)
        row->job.last = ended_run_of(rows, row, columns);
}

/* ---- the calls -------------------------------------------------------------------------------------- */

static int ask(struct rowlock_connection *connection, enum rowlock_statement_id id,
               const char *name, rowlock_row *row, struct rowlock_rows *rows,
               struct rowlock_error *error)
{
    struct rowlock_value value = rowlock__text_value(name);
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code && name)
        code = rowlock__job_name_check(name, error);
    if (!code)
        code = rowlock__check_installed(connection, error);
    if (!code)
        code = rowlock__ask(connection, id, &value, row, rows, error);
    if (!code && rows->failed)
        code = rowlock__fail(error, ROWLOCK_ENOMEM, "out of memory");
    return code;
}

static void clear(struct rowlock_rows *rows)
{
    struct row *row = rows->row;

    for (size_t i = 0; i < rows->n; i++)
        for (int k = 0; k < row[i].texts; k++)
            free(row[i].text[k]);
    free(row);
}

static int no_visitor(struct rowlock_error *error)
{
    return rowlock__fail(error, ROWLOCK_EINVAL, "who is to be told? visit is NULL");
}

int rowlock_jobs(struct rowlock_connection *connection, const char *name, rowlock_visit_job visit,
                 void *data, struct rowlock_error *error)
{
    struct rowlock_rows rows = {.size = sizeof(struct row)};
    int code = visit ? ask(connection, ROWLOCK_SQL_JOB_LIST, name, job_row, &rows, error)
                     : no_visitor(error);

    for (size_t i = 0; !code && i < rows.n; i++)
        if (visit(&((struct row *)rows.row)[i].job, data))
            break;
    clear(&rows);
    return code;
}

int rowlock_runs(struct rowlock_connection *connection, const char *name, rowlock_visit_run visit,
                 void *data, struct rowlock_error *error)
{
    struct rowlock_rows rows = {.size = sizeof(struct row)};
    int code = visit
                   ? ask(connection, ROWLOCK_SQL_RUN_LIST, name ? name : "", run_row, &rows, error)
                   : no_visitor(error);

    for (size_t i = 0; !code && i < rows.n; i++) {
        struct rowlock_run *run = &((struct row *)rows.row)[i].job.last;

        run->job = name;
        if (visit(run, data))
            break;
    }
    clear(&rows);
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
        code = rowlock__check_installed(connection, error);
    if (!code)
        code = rowlock__ask_alone(connection, ROWLOCK_SQL_JOB_FORGET, &value, false,
                                  rowlock__take_number, &answer, error);
    if (!code && answer == 2)
        code = rowlock__fail(
            error, ROWLOCK_EBUSY,
            "the job '%.100s' runs: forget it when it has ended, or break its lease", name);
    return code;
}
