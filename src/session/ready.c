/* SPDX-License-Identifier: Apache-2.0 */
/* Before a call: is the connection usable, and is its transaction in the wanted state? */
#include <unistd.h>

#include "session/connection.h"
#include "util/error.h"

int rowlock__ready(struct rowlock_connection *connection, enum rowlock_state wanted,
                   struct rowlock_error *error)
{
    enum rowlock_state state;
    int code;

    rowlock__clear_error(error);
    if (!connection)
        return rowlock__fail(error, ROWLOCK_EINVAL, "the connection is NULL: was it opened?");
    if (connection->pid != getpid())
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "the connection was opened by process %ld; open one after fork",
                             (long)connection->pid);
    state = rowlock__state(connection);
    /* After a failed statement of the caller's, libmariadb does not know whether a transaction is
       open. A call that begins one asks the server first: cleaning up after a refusal would roll
       back the caller's transaction, and DDL would commit it. */
    if (state == ROWLOCK_STATE_ASK && wanted == ROWLOCK_STATE_IDLE) {
        code = rowlock__ask(connection, ROWLOCK_SQL_PING, NULL, NULL, NULL, error);
        if (code)
            return code;
        state = rowlock__state(connection);
    }
    switch (state) {
    case ROWLOCK_STATE_DEAD:
        return rowlock__left(
            error, rowlock__fail(error, ROWLOCK_ECONN, "the connection is lost; open another"),
            ROWLOCK_TX_DEAD);
    case ROWLOCK_STATE_ABORTED:
        return rowlock__left(error,
                             rowlock__fail(error, ROWLOCK_EABORTED,
                                           "an earlier statement of the transaction failed; roll "
                                           "back"),
                             ROWLOCK_TX_ABORTED);
    case ROWLOCK_STATE_OPEN:
        if (wanted == ROWLOCK_STATE_IDLE)
            return rowlock__left(error,
                                 rowlock__fail(error, ROWLOCK_EINTX,
                                               "a transaction is open; lock in it with "
                                               "rowlock_lock, or end it before"),
                                 ROWLOCK_TX_KEPT);
        break;
    case ROWLOCK_STATE_IDLE:
        if (wanted == ROWLOCK_STATE_OPEN)
            return rowlock__fail(error, ROWLOCK_ENOTX,
                                 "no transaction is open; rowlock_begin opens one and locks");
        break;
    case ROWLOCK_STATE_ASK:
        break;
    }
    return ROWLOCK_OK;
}
