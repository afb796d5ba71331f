/* SPDX-License-Identifier: Apache-2.0 */
/* rowlock_fence: checks a lease's token in the caller's transaction, and keeps it valid until its
   end. */
#include <limits.h>
#include <string.h>

#include "lock/refusal.h"
#include "lock/wants.h"
#include "schema/check.h"
#include "session/connection.h"
#include "util/error.h"

struct said {
    struct rowlock_answer answer;
    int rows;
};

static void said_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct said *said = data;

    said->rows++;
    rowlock__answer_row(&said->answer, columns, n);
}

static int judge(const struct rowlock_connection *connection, const struct rowlock_answer *answer,
                 const char *name, int64_t token, struct rowlock_error *error)
{
    int code;

    switch (answer->status) {
    case ROWLOCK_STATUS_OK:
        return ROWLOCK_OK;
    case ROWLOCK_STATUS_LOST:
        code = rowlock__fail(error, ROWLOCK_ELOST,
                             "token %lld is not (or no longer) a lease of '%.100s'; roll back",
                             (long long)token, name);
        break;
    case ROWLOCK_STATUS_TIMEDOUT:
        code = rowlock__fail(error, ROWLOCK_ETIMEDOUT,
                             "'%.100s': timed out: another session is ending this lease; "
                             "roll back, or try again",
                             name);
        break;
    default:
        code = rowlock__refuse(answer, 0, NULL, rowlock__was_interrupted(connection), error);
    }
    return rowlock__left(error, code, ROWLOCK_TX_KEPT);
}

int rowlock_fence(struct rowlock_connection *connection, const char *name, int64_t token,
                  struct rowlock_error *error)
{
    struct said said = {.rows = 0};
    struct rowlock_value values[3];
    struct rowlock_call call;
    struct rowlock_budget budget;
    struct rowlock_error unseen;
    int64_t limit_ms;
    int code;

    if (!error)
        error = &unseen;
    code = rowlock__ready(connection, ROWLOCK_STATE_OPEN, error);
    if (code)
        return code;
    code = rowlock__name_check(name, error);
    if (!code && token < 1)
        code = rowlock__fail(error, ROWLOCK_EINVAL, "'%.100s': token must be positive", name);
    if (!code)
        code = rowlock__check_replaced(connection, error);
    if (!code && connection->dialect->procedural)
        code = rowlock__check_installed(connection, error);
    /* nothing was requested yet; but reading the schema may have found the connection lost */
    if (code && error->transaction == ROWLOCK_TX_NONE)
        rowlock__left(error, code, ROWLOCK_TX_KEPT);
    if (code)
        return code;
    limit_ms = connection->statement_ms;
    values[0] = rowlock__text_value(name);
    values[1] = rowlock__int_value(token);
    values[2] = rowlock__int_value(limit_ms < 0 || limit_ms > INT_MAX ? INT_MAX : limit_ms);
    call = rowlock__call(connection, ROWLOCK_SQL_FENCE, values, said_row, &said);
    call.limit_ms = limit_ms > 0 ? limit_ms : 0;
    budget = rowlock__budget(connection);
    /* the server ends the wait by itself, and gets the time of one statement more to report it */
    if (connection->dialect->procedural)
        budget.deadline_ms = rowlock__after(budget.deadline_ms, limit_ms);
    code = rowlock__send(connection, ROWLOCK_INSIDE, &call, &budget, error);
    if (!code && said.rows == 0)
        code =
            rowlock__left(error, rowlock__fail(error, ROWLOCK_EDB, "the database returned no row"),
                          ROWLOCK_TX_KEPT);
    if (!connection->dialect->procedural)
        code = rowlock__check_late(connection, code, error);
    if (code)
        return rowlock__wrap_error(error, code, "the fence of '%.100s'", name);
    return judge(connection, &said.answer, name, token, error);
}
