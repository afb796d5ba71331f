/* SPDX-License-Identifier: Apache-2.0 */
/* One statement over a connection: its text, its time limit, its columns, and the
   state it leaves. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/plain.h"
#include "session/connection.h"
#include "util/error.h"

#define CANCEL_MS 400 /* reserved at the end of a wait for the answer to a cancel request */

enum rowlock_state rowlock__state(const struct rowlock_connection *connection)
{
    return connection->driver->state(connection->link);
}

int rowlock__check_replaced(struct rowlock_connection *connection, struct rowlock_error *error)
{
    const struct rowlock_driver *driver = connection->driver;

    if (!driver->replaced || !driver->replaced(connection->link))
        return ROWLOCK_OK;
    return rowlock__fail(
        error, ROWLOCK_ELOST,
        "the database file was deleted or replaced, and every lease in it is lost");
}

/* A standby, a read-only server, a Galera node, or a database that forgets commits is reported on
   opening, not at the first lock. A script may remove the server's reason: then asks again. If it
   failed, the reason remains, unless another session has removed it meanwhile. */
int rowlock__check_server(struct rowlock_connection *connection, struct rowlock_error *error)
{
    const struct rowlock_plain *plain = connection->dialect->plain;
    struct rowlock_budget budget;
    char *why = NULL;
    int code = rowlock__ask(connection, ROWLOCK_SQL_SERVER, NULL, rowlock__take_text, &why, error);

    if (!code && why && plain && plain->remedy) {
        budget = rowlock__budget(connection);
        connection->driver->script(connection->link, plain->remedy, &budget, NULL);
        free(why);
        why = NULL;
        code = rowlock__ask(connection, ROWLOCK_SQL_SERVER, NULL, rowlock__take_text, &why, error);
    }
    if (!code && why)
        code = rowlock__fail(error, ROWLOCK_ESERVER, "this server cannot keep a lock: %s", why);
    free(why);
    return code;
}

void rowlock__use_former(struct rowlock_connection *connection, bool former)
{
    connection->former = former;
    if (connection->driver->use_former)
        connection->driver->use_former(connection->link, former);
}

const struct rowlock_statement *rowlock__sql(const struct rowlock_connection *connection,
                                             enum rowlock_statement_id id)
{
    const struct rowlock_statement *own = &connection->renamed[id];

    if (own->text)
        return own;
    if (connection->former && connection->dialect->former && connection->dialect->former[id].text)
        return &connection->dialect->former[id];
    own = &connection->dialect->statements[id];
    return own->text ? own : NULL;
}

struct rowlock_budget rowlock__budget(const struct rowlock_connection *connection)
{
    struct rowlock_budget budget = {rowlock__after(rowlock__now_ms(), connection->statement_ms),
                                    connection->interrupt_fd, 0};

    return rowlock__in_time(connection, budget, ROWLOCK_LATE_MS);
}

void rowlock__wait_begins(struct rowlock_connection *connection, int64_t deadline_ms)
{
    if (!connection->wrapped && deadline_ms != ROWLOCK_NEVER)
        connection->deadline_ms = deadline_ms;
}

void rowlock__wait_ends(struct rowlock_connection *connection)
{
    connection->deadline_ms = 0;
}

struct rowlock_budget rowlock__in_time(const struct rowlock_connection *connection,
                                       struct rowlock_budget budget, int64_t late_ms)
{
    int64_t late, least;

    if (!connection->deadline_ms)
        return budget;
    late = rowlock__after(connection->deadline_ms, ROWLOCK_LATE_MS);
    least = rowlock__after(rowlock__now_ms(), late_ms);
    if (late < least)
        late = least;
    if (budget.deadline_ms > late)
        budget.deadline_ms = late;
    budget.give_up_ms = rowlock__after(late, CANCEL_MS);
    return budget;
}

int rowlock__given_up(const struct rowlock_connection *connection, int code,
                      struct rowlock_error *error)
{
    if (code != ROWLOCK_ETIMEDOUT || rowlock__state(connection) != ROWLOCK_STATE_DEAD)
        return code;
    if (error)
        error->code = ROWLOCK_ECONN;
    return ROWLOCK_ECONN;
}

int rowlock__was_interrupted(const struct rowlock_connection *connection)
{
    return connection->interrupt_fd >= 0 &&
           rowlock__wait_fd(-1, 0, connection->interrupt_fd, 0) == ROWLOCK_WAKE_INTERRUPT;
}

bool rowlock__was_cancelled(const struct rowlock_connection *connection, int code,
                            int64_t deadline_ms)
{
    if ((code != ROWLOCK_ECANCELED && code != ROWLOCK_ETIMEDOUT) ||
        rowlock__now_ms() >= deadline_ms || rowlock__state(connection) == ROWLOCK_STATE_DEAD)
        return false;
    return !rowlock__was_interrupted(connection);
}

bool rowlock__had_no_room(const struct rowlock_connection *connection, int code,
                          const struct rowlock_error *error)
{
    return code == ROWLOCK_ECONN && rowlock_is_full(error) &&
           rowlock__state(connection) != ROWLOCK_STATE_DEAD;
}

void rowlock__clean_up(struct rowlock_connection *connection, const struct rowlock_outcome *outcome)
{
    struct rowlock_budget budget = rowlock__budget(connection);

    budget.interrupt_fd = -1; /* finishing is more important than stopping at once */
    if (outcome->left != ROWLOCK_TX_NONE && outcome->left != ROWLOCK_TX_GONE &&
        outcome->left != ROWLOCK_TX_DEAD)
        connection->driver->rollback(connection->link, &budget, NULL);
}

int rowlock__cleaned_up(struct rowlock_connection *connection,
                        const struct rowlock_outcome *outcome, int code,
                        struct rowlock_error *error)
{
    rowlock__clean_up(connection, outcome);
    return rowlock__left(error, code,
                         outcome->left == ROWLOCK_TX_DEAD ? ROWLOCK_TX_DEAD : ROWLOCK_TX_NONE);
}

struct rowlock_call rowlock__call(const struct rowlock_connection *connection,
                                  enum rowlock_statement_id id, const struct rowlock_value *values,
                                  rowlock_row *row, void *data)
{
    return (struct rowlock_call){
        .statement = rowlock__sql(connection, id), .values = values, .row = row, .data = data};
}

int rowlock__send(struct rowlock_connection *connection, unsigned flags, struct rowlock_call *call,
                  const struct rowlock_budget *budget, struct rowlock_error *error)
{
    struct rowlock_budget usual = rowlock__budget(connection);
    struct rowlock_outcome outcome = {0};
    bool ours = flags != ROWLOCK_INSIDE || rowlock__state(connection) == ROWLOCK_STATE_IDLE;
    size_t n = call->statement ? 1 : 0;
    int code;

    if (!n && flags != ROWLOCK_COMMIT)
        return ROWLOCK_OK;
    code = connection->driver->run(connection->link, flags, call, n, budget ? budget : &usual,
                                   &outcome, error);
    if (ours && code)
        return rowlock__cleaned_up(connection, &outcome, code, error);
    /* with autocommit off a query opens a transaction, which the caller would not end */
    if (ours)
        rowlock__clean_up(connection, &outcome);
    return code;
}

int rowlock__ask(struct rowlock_connection *connection, enum rowlock_statement_id id,
                 const struct rowlock_value *values, rowlock_row *row, void *data,
                 struct rowlock_error *error)
{
    struct rowlock_call call = rowlock__call(connection, id, values, row, data);

    return rowlock__send(connection, ROWLOCK_INSIDE, &call, NULL, error);
}

void rowlock__column_text(const struct rowlock_value *column, char *out, size_t size)
{
    if (column->type == ROWLOCK_INT)
        snprintf(out, size, "%" PRId64, column->number);
    else if (column->type == ROWLOCK_BYTES)
        snprintf(out, size, "%.*s", (int)(column->length < size ? column->length : size - 1),
                 column->bytes);
    else
        out[0] = '\0';
}

const char *rowlock__rows_text(struct rowlock_rows *rows, const struct rowlock_value *column)
{
    char number[32];

    if (column->type == ROWLOCK_BYTES)
        return rowlock__rows_copy(rows, column->bytes, column->length);
    rowlock__column_text(column, number, sizeof number);
    return *number ? rowlock__rows_copy(rows, number, strlen(number)) : "";
}

void rowlock__take_text(void *data, const struct rowlock_value *columns, unsigned n)
{
    char **text = data, buffer[1024];

    if (n == 0 || columns[0].type == ROWLOCK_NULL)
        return;
    rowlock__column_text(&columns[0], buffer, sizeof buffer);
    free(*text);
    *text = strdup(buffer);
}
