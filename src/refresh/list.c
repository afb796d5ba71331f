/* SPDX-License-Identifier: Apache-2.0 */
/* Lists subjects, and marks one as stale. Reads all rows first, so that the callback may use the
   connection. */
#include "lease/lease.h"
#include "lease/query.h"
#include "refresh/subject.h"
#include "schema/check.h"

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
    code = rowlock__list_result(&list, code, error);
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
