/* SPDX-License-Identifier: Apache-2.0 */
/* The outcome of a COMMIT, and of a failed statement, where the result code is not enough. */
#include <string.h>

#include "driver/failure.h"
#include "driver/odbc/link.h"
#include "util/error.h"

#define O rowlock__odbc

/* A COMMIT whose wait for the synchronous standby was cancelled succeeds, but only on this server.
   Only a statement reports the warning. Its text depends on the server's language, so any warning
   of that class counts. */
int rowlock__odbc_commit(struct rowlock_link *link, struct rowlock_error *error)
{
    static const char text[] = "COMMIT";
    struct rowlock__odbc_diagnosis warning = {.native = 0};
    SQLHSTMT stmt = SQL_NULL_HSTMT;
    SQLRETURN result;
    int code = rowlock__odbc_check(link, O.SQLAllocHandle(SQL_HANDLE_STMT, link->dbc, &stmt),
                                   SQL_HANDLE_DBC, link->dbc, error);

    if (code)
        return code;
    rowlock__odbc_begins(link, SQL_NULL_HSTMT);
    result = O.SQLExecDirect(stmt, (SQLCHAR *)text, sizeof text - 1);
    if (result == SQL_SUCCESS_WITH_INFO)
        rowlock__odbc_diagnose(link, SQL_HANDLE_STMT, stmt, &warning);
    code = rowlock__odbc_ended(link, result, SQL_HANDLE_STMT, stmt, error);
    if (!link->dead)
        O.SQLFreeHandle(SQL_HANDLE_STMT, stmt);
    if (code || strcmp(warning.sqlstate, "01000") != 0)
        return code;
    rowlock__watch_shut_down(link->watch);
    link->dead = true;
    return rowlock__fail(error, ROWLOCK_ECONN,
                         "the synchronous standby did not confirm it: the primary has committed, "
                         "but a fail-over would undo that (%s)",
                         warning.text);
}

static void take_rolls_back(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_link *link = data;
    bool is_on = n > 0 && (rowlock__value_number(&columns[0]) == 1 ||
                           (columns[0].type == ROWLOCK_BYTES && columns[0].length == 2));

    link->timeout = is_on ? TIMEOUT_ROLLS_BACK : TIMEOUT_KEEPS;
}

/* MariaDB: asks whether a lock wait timeout rolls the whole transaction back, which an option of
   the server's start decides. Asks once, after the first such error (product.timeout). Without an
   answer the transaction must be rolled back, which is right in both cases. */
enum rowlock_transaction rowlock__odbc_left(struct rowlock_link *link,
                                            const struct rowlock_error *error)
{
    static const struct rowlock_statement ask = {
        "rollback_on_timeout", "SELECT @@innodb_rollback_on_timeout", 0, NULL, NULL};
    struct rowlock_call call = {.statement = &ask, .row = take_rolls_back, .data = link};
    struct rowlock_budget before = link->budget, soon = {rowlock__now_ms() + 2000, -1, 0};
    struct rowlock_error unseen;

    if (!link->product->timeout || link->product->timeout != error->native)
        return rowlock__failure_left(link->product->engine, error->sqlstate, error->native,
                                     link->product->left);
    if (link->timeout == TIMEOUT_UNKNOWN) {
        rowlock__odbc_arm(link, &soon);
        rowlock__odbc_call(link, &call, &unseen);
        rowlock__odbc_arm(link, &before);
    }
    return link->timeout == TIMEOUT_KEEPS        ? ROWLOCK_TX_KEPT
           : link->timeout == TIMEOUT_ROLLS_BACK ? ROWLOCK_TX_GONE
                                                 : ROWLOCK_TX_ABORTED;
}
