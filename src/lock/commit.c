/* SPDX-License-Identifier: Apache-2.0 */
/* COMMIT and ROLLBACK of the caller's transaction, which also release its locks. */
#include "driver/failure.h"
#include "session/connection.h"
#include "util/error.h"

int rowlock_commit(struct rowlock_connection *connection, struct rowlock_error *error)
{
    struct rowlock_budget budget;
    struct rowlock_outcome outcome = {0};
    bool unused = connection && !connection->link; /* there is no session to ask yet */
    int code = rowlock__ready(connection, unused ? ROWLOCK_STATE_OPEN : ROWLOCK_STATE_ASK, error);

    if (code == ROWLOCK_EABORTED) {
        rowlock_rollback(connection, NULL);
        return rowlock__fail(error, code,
                             "an earlier statement of the transaction had failed, so it was rolled "
                             "back; nothing of it was committed");
    }
    if (code)
        return code;
    budget = rowlock__budget(connection);
    budget.interrupt_fd = -1; /* an interrupted COMMIT would leave its outcome unknown */
    if (rowlock__state(connection) == ROWLOCK_STATE_IDLE)
        return rowlock__fail(error, ROWLOCK_ENOTX, "no transaction is open");
    code = connection->driver->run(connection->link, ROWLOCK_COMMIT, NULL, 0, &budget, &outcome,
                                   error);
    if (code && outcome.left == ROWLOCK_TX_DEAD && outcome.sent_commit) {
        rowlock__advise(error, "read your data to learn whether it happened");
        return rowlock__left(error, ROWLOCK_EUNKNOWN, ROWLOCK_TX_DEAD);
    }
    return code;
}

int rowlock_rollback(struct rowlock_connection *connection, struct rowlock_error *error)
{
    struct rowlock_budget budget;
    bool unused = connection && !connection->link;
    int code = rowlock__ready(connection, unused ? ROWLOCK_STATE_OPEN : ROWLOCK_STATE_ASK, error);

    if (code == ROWLOCK_ENOTX) {
        rowlock__clear_error(error);
        return ROWLOCK_OK;
    }
    if (code && code != ROWLOCK_EABORTED)
        return code;
    budget = rowlock__budget(connection);
    budget.interrupt_fd = -1;
    rowlock__clear_error(error);
    return connection->driver->rollback(connection->link, &budget, error);
}
