/* SPDX-License-Identifier: Apache-2.0 */
/* Lists jobs and their runs. Reads all rows first, so that the callback may use the connection. */
#include <stdbool.h>

#include "dialect/job.h"
#include "job/job.h"
#include "lease/query.h"
#include "schema/check.h"
#include "session/connection.h"
#include "util/error.h"

/* ---- a row ----------------------------------------------------------------------------------- */

#define text_of rowlock__rows_text
#define number_of(rows, column) rowlock__value_number(column)
#define outcome_of(rows, column) rowlock__value_outcome(column)
#define instant_of number_of

void rowlock__job_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_rows *rows = data;
    struct rowlock_job_view *job =
        n < ROWLOCK_COUNT_OF(ROWLOCK_JOB_COLUMNS) ? NULL : rowlock__rows_add(rows);

    if (!job)
        return;
#define ROWLOCK_XX(kind, member, source, column) job->member = kind##_of(rows, columns++);
    ROWLOCK_JOB_COLUMNS(ROWLOCK_XX)
#undef ROWLOCK_XX
    job->running.job = job->last.job = job->name;
}

static void run_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_rows *rows = data;
    struct rowlock_run *run =
        n < ROWLOCK_COUNT_OF(ROWLOCK_RUN_COLUMNS) ? NULL : rowlock__rows_add(rows);

    if (!run)
        return;
#define ROWLOCK_XX(kind, member, column) run->member = kind##_of(rows, columns++);
    ROWLOCK_RUN_COLUMNS(ROWLOCK_XX)
#undef ROWLOCK_XX
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
    return rowlock__rows_complete(rows, code, error);
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
