/* SPDX-License-Identifier: Apache-2.0 */
/* The statements about a subject that both kinds of refresh use. */
#include "refresh/subject.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lease/query.h"
#include "lease/request.h"
#include "schema/check.h"
#include "system/system.h"
#include "util/error.h"
#include "util/utf8.h"

int rowlock__marking_init(struct rowlock_marking *marking, struct rowlock_connection *connection,
                          const struct rowlock_subject *subject, struct rowlock_error *error)
{
    const char *name = subject && subject->name ? subject->name : "";
    int length = snprintf(marking->lock, sizeof marking->lock, ROWLOCK_SUBJECT_PREFIX "%s", name);

    if (!*name || length < 0 || (size_t)length >= sizeof marking->lock)
        return rowlock__fail(error, ROWLOCK_EINVAL, "a subject's name has 1 to %zu bytes",
                             ROWLOCK_SUBJECT_MAX);
    marking->connection = connection;
    marking->name = marking->lock + strlen(ROWLOCK_SUBJECT_PREFIX);
    marking->max_age_ms = subject->max_age_ms;
    marking->described = subject->description != NULL;
    if (marking->described)
        rowlock__utf8_copy(marking->description, sizeof marking->description, subject->description);
    rowlock__host(marking->host, sizeof marking->host);
    rowlock__utf8_copy(marking->program, sizeof marking->program,
                       subject->command && *subject->command ? subject->command
                                                             : rowlock__program_name());
    marking->pid = getpid();
    return rowlock__name_check(marking->lock, error);
}

struct looked {
    struct rowlock_refresh *out;
    int rows;
};

/* stale, age_ms[, version] */
static void look_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct looked *looked = data;

    if (n < 2)
        return;
    looked->rows++;
    looked->out->stale = rowlock__value_number(&columns[0]) != 0;
    looked->out->age_ms = columns[1].type == ROWLOCK_NULL ? -1 : rowlock__value_number(&columns[1]);
    looked->out->version = n > 2 ? rowlock__value_number(&columns[2]) : 0;
}

int rowlock__subject_ask(struct rowlock_connection *connection, enum rowlock_statement_id id,
                         const struct rowlock_value *values, int64_t *answer,
                         struct rowlock_error *error)
{
    int code;

    *answer = INT64_MIN;
    code = rowlock__ask_alone(connection, id, values, false, rowlock__take_number, answer, error);
    return !code && *answer == INT64_MIN
               ? rowlock__fail(error, ROWLOCK_EDB, "the database returned no row")
               : code;
}

static void clear(const struct rowlock_marking *marking, struct rowlock_refresh *out)
{
    *out = (struct rowlock_refresh){.stale = 1, .age_ms = -1};
    snprintf(out->subject, sizeof out->subject, "%s", marking->name);
}

int rowlock__subject_look(const struct rowlock_marking *marking, struct rowlock_refresh *out,
                          struct rowlock_error *error)
{
    struct rowlock_value values[] = {rowlock__text_value(marking->name),
                                     rowlock__int_value(marking->max_age_ms)};
    struct looked looked = {.out = out};

    clear(marking, out);
    /* dialects with functions also create the subject here */
    return rowlock__ask_alone(marking->connection, ROWLOCK_SQL_SUBJECT_LOOK, values,
                              !marking->connection->dialect->procedural, look_row, &looked, error);
}

int rowlock__subject_begin(const struct rowlock_marking *marking, int64_t token,
                           struct rowlock_refresh *out, struct rowlock_error *error)
{
    struct rowlock_value values[] = {
        rowlock__text_value(marking->name),
        rowlock__int_value(marking->max_age_ms),
        rowlock__int_value(token),
        rowlock__text_value(marking->described ? marking->description : NULL),
        rowlock__text_value(marking->host),
        rowlock__int_value(marking->pid),
        rowlock__text_value(marking->program)};
    struct looked looked = {.out = out};
    int code;

    clear(marking, out);
    code = rowlock__ask(marking->connection, ROWLOCK_SQL_SUBJECT_BEGIN, values, look_row, &looked,
                        error);
    if (!code && looked.rows == 0)
        code = rowlock__fail(error, ROWLOCK_EDB, "the database returned no row");
    return code;
}

/* Lists subjects, and marks one as stale. Reads all rows first, so that the callback may use the
   connection. */

static enum rowlock_subject_status status_of(const struct rowlock_value *column)
{
    char text[16];

    rowlock__column_text(column, text, sizeof text);
    switch (text[0]) {
    case 'P':
        return ROWLOCK_SUBJECT_PROCESSING;
    case 'C':
        return ROWLOCK_SUBJECT_COMPLETE;
    case 'E':
        return ROWLOCK_SUBJECT_ERROR;
    default:
        return ROWLOCK_SUBJECT_NONE;
    }
}

static int64_t number_or(const struct rowlock_value *column, int64_t none)
{
    return column->type == ROWLOCK_NULL ? none : rowlock__value_number(column);
}

/* name, description, status, began, ended, updated, age_ms, program, host, pid,
   error, exit, made */
static void list_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_rows *rows = data;
    struct rowlock_subject_view *view = n < 13 ? NULL : rowlock__rows_add(rows);

    if (!view)
        return;
    *view = (struct rowlock_subject_view){.status = status_of(&columns[2]),
                                          .began_ms = number_or(&columns[3], 0),
                                          .ended_ms = number_or(&columns[4], 0),
                                          .updated_ms = number_or(&columns[5], 0),
                                          .age_ms = number_or(&columns[6], -1),
                                          .pid = number_or(&columns[9], 0),
                                          .exit = (int)number_or(&columns[11], -1),
                                          .has_data = number_or(&columns[12], 0) != 0,
                                          .name = rowlock__rows_text(rows, &columns[0]),
                                          .description = rowlock__rows_text(rows, &columns[1]),
                                          .by = rowlock__rows_text(rows, &columns[7]),
                                          .host = rowlock__rows_text(rows, &columns[8]),
                                          .error = rowlock__rows_text(rows, &columns[10])};
}

/* `name` may be NULL. */
static int check(struct rowlock_connection *connection, const char *name,
                 struct rowlock_error *error)
{
    struct rowlock_subject subject = {.name = name};
    struct rowlock_marking marking;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code && name)
        code = rowlock__marking_init(&marking, connection, &subject, error);
    return code ? code : rowlock__check_present(connection, error);
}

int rowlock_subjects(struct rowlock_connection *connection, const char *name,
                     rowlock_visit_subject visit, void *data, struct rowlock_error *error)
{
    struct rowlock_value value = rowlock__text_value(name);
    struct rowlock_rows list = {.size = sizeof(struct rowlock_subject_view)};
    const struct rowlock_subject_view *view;
    int code = check(connection, name, error);

    if (!code)
        code = rowlock__list_check(connection, visit != NULL, error);
    if (!code)
        code = rowlock__ask_alone(connection, ROWLOCK_SQL_SUBJECT_LIST, &value, true, list_row,
                                  &list, error);
    code = rowlock__rows_complete(&list, code, error);
    view = list.row;
    for (size_t i = 0; !code && i < list.n; i++)
        if (visit(&view[i], data))
            break;
    rowlock__rows_clear(&list);
    return code;
}

int rowlock_expire(struct rowlock_connection *connection, const char *subject, int *known,
                   struct rowlock_error *error)
{
    struct rowlock_value value = rowlock__text_value(subject ? subject : "");
    int64_t answer = 0;
    int code = check(connection, subject ? subject : "", error);

    if (!code)
        code = rowlock__subject_ask(connection, ROWLOCK_SQL_SUBJECT_EXPIRE, &value, &answer, error);
    if (!code && known)
        *known = answer != 0;
    return code;
}
