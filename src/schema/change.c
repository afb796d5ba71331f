/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of the schema. Any number of nodes may start one at once: a lock of the engine
 * (INSTALL_LOCK; on SQLite the write lock) admits one after the other. The plain dialects have
 * none: there each statement copes with others that do the same (emulate/link.c).
 */
#include "schema/schema.h"

#include <stdlib.h>
#include <string.h>

#include "dialect/plain.h"
#include "driver/failure.h"
#include "util/error.h"

/* GET_LOCK returns 1 with the lock, and 0 or NULL without it. */
static void refused_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    char answer[4];

    if (n > 0)
        rowlock__column_text(&columns[0], answer, sizeof answer);
    *(int *)data = n > 0 && (columns[0].type == ROWLOCK_NULL || strcmp(answer, "0") == 0);
}

/* The time limit of a script, which is many statements, and of the wait for another installer,
   which may be running scripts. */
static struct rowlock_budget script_budget(const struct rowlock_connection *connection)
{
    struct rowlock_budget budget = rowlock__budget(connection);

    if (budget.deadline_ms != ROWLOCK_NEVER && connection->statement_ms > 0)
        budget.deadline_ms += 5 * connection->statement_ms;
    return budget;
}

int rowlock__enter_install(struct rowlock_connection *connection, struct rowlock_error *error)
{
    int refused = 0;
    struct rowlock_call lock = {.statement = rowlock__sql(connection, ROWLOCK_SQL_INSTALL_LOCK),
                                .row = refused_row,
                                .data = &refused};
    struct rowlock_budget budget = script_budget(connection);
    struct rowlock_outcome outcome = {0};
    int code = ROWLOCK_OK;

    /* on a plain dialect each statement of the schema is a transaction of its own */
    if (!rowlock__has_plain_schema(connection->dialect))
        code = connection->driver->run(connection->link, ROWLOCK_BEGIN, &lock,
                                       lock.statement ? 1 : 0, &budget, &outcome, error);
    if (!code && refused)
        code = rowlock__fail(error, ROWLOCK_ETIMEDOUT, "timed out waiting for the install lock");
    if (!code)
        return ROWLOCK_OK;
    rowlock__wrap_error(error, code,
                        code == ROWLOCK_ETIMEDOUT || code == ROWLOCK_ECANCELED
                            ? "while another node installs"
                            : "taking the lock of installers");
    return rowlock__cleaned_up(connection, &outcome, code, error);
}

int rowlock__leave_install(struct rowlock_connection *connection, int code,
                           struct rowlock_error *error)
{
    struct rowlock_call unlock =
        rowlock__call(connection, ROWLOCK_SQL_INSTALL_UNLOCK, NULL, NULL, NULL);
    struct rowlock_budget budget = rowlock__budget(connection);

    if (rowlock__has_plain_schema(connection->dialect))
        return code ? rowlock__left(error, code, ROWLOCK_TX_NONE) : ROWLOCK_OK;
    budget.interrupt_fd = -1; /* finishing is more important than stopping at once */
    if (code) {
        connection->driver->rollback(connection->link, &budget, NULL);
        rowlock__send(connection, ROWLOCK_INSIDE, &unlock, &budget, NULL);
        return rowlock__left(error, code, ROWLOCK_TX_NONE);
    }
    return rowlock__send(connection, ROWLOCK_COMMIT, &unlock, &budget, error);
}

int rowlock__run_piece(struct rowlock_connection *connection, const char *name,
                       const struct rowlock_names *names, struct rowlock_error *error)
{
    struct rowlock_budget budget = script_budget(connection);
    char *text = NULL;
    int code = rowlock__piece(connection->dialect, name, names, &text, error);

    if (!code && *text) /* some dialects lack some pieces */
        code = connection->driver->script(connection->link, text, &budget, error);
    free(text);
    return code ? rowlock__wrap_error(error, code, "the schema's part '%s'", name) : ROWLOCK_OK;
}

int rowlock__say_needs(struct rowlock_connection *connection, enum rowlock_technique technique,
                       int code, struct rowlock_error *error)
{
    struct rowlock_value insert[1] = {rowlock__int_value(technique == ROWLOCK_INSERT)};
    char *needs = NULL;

    if (code == ROWLOCK_EDENIED && rowlock__sql(connection, ROWLOCK_SQL_INSTALL_NEEDS) &&
        rowlock__ask(connection, ROWLOCK_SQL_INSTALL_NEEDS, insert, rowlock__take_text, &needs,
                     NULL) == ROWLOCK_OK &&
        needs)
        rowlock__advise(error, needs);
    free(needs);
    return code;
}
