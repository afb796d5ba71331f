/* SPDX-License-Identifier: Apache-2.0 */
/* Before a call: is the connection usable, and is its transaction in the wanted state? */
#include <unistd.h>

#include "session/connection.h"
#include "util/error.h"

#define NO_TRANSACTION "no transaction is open; rowlock_begin opens one and locks"

/* After a failed statement of the caller's, libmariadb does not know whether a transaction is open.
   A call that begins one asks the server first: cleaning up after a refusal would roll back the
   caller's transaction, and DDL would commit it. */
int rowlock__ready(struct rowlock_connection *connection, enum rowlock_state wanted,
                   struct rowlock_error *error)
{
    enum rowlock_state state;
    int code = ROWLOCK_OK;

    rowlock__clear_error(error);
    if (!connection)
        return rowlock__fail(error, ROWLOCK_EINVAL, "the connection is NULL: was it opened?");
    if (connection->pid != getpid())
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "the connection was opened by process %ld; open one after fork",
                             (long)connection->pid);
    if (!connection->link && wanted == ROWLOCK_STATE_OPEN)
        return rowlock__fail(error, ROWLOCK_ENOTX, NO_TRANSACTION);
    if (!connection->link)
        code = rowlock__reconnect(connection,
                                  rowlock__after(rowlock__now_ms(), connection->connect_ms), error);
    if (code)
        return code;
    state = rowlock__state(connection);
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
            return rowlock__fail(error, ROWLOCK_ENOTX, NO_TRANSACTION);
        break;
    case ROWLOCK_STATE_ASK:
        break;
    }
    return ROWLOCK_OK;
}

int rowlock__ready_or_lost(struct rowlock_connection *connection, struct rowlock_error *error)
{
    if (!connection || connection->link || connection->pid != getpid())
        return rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);
    return rowlock__fail(error, ROWLOCK_ECONN, "no session is open");
}
