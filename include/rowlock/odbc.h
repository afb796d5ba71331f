/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps your own ODBC connection (HDBC) as a rowlock connection. */
#ifndef ROWLOCK_ODBC_H
#define ROWLOCK_ODBC_H

#include "../rowlock.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Wraps `hdbc`, a connected SQLHDBC, so that locks are taken in its transactions. Sends nothing
 * now. Nothing stays prepared on it.
 *
 * With SQL_AUTOCOMMIT_OFF a transaction counts as open: use rowlock_lock, and end it by
 * rowlock_commit, rowlock_rollback or your own SQLEndTran. With SQL_AUTOCOMMIT_ON none is open:
 * rowlock_begin sets SQL_AUTOCOMMIT_OFF, and rowlock_commit and rowlock_rollback restore it. If you
 * end that transaction by SQLEndTran instead, set SQL_AUTOCOMMIT_ON yourself.
 * Set the isolation level READ COMMITTED. On PostgreSQL connect with Protocol=7.4-2, on MariaDB
 * with Option=2.
 *
 * A wait ends at its deadline by SQLCancel. ODBC does not report the socket of a session, so a call
 * on a silent server blocks until the driver's own timeout.
 *
 * Does not block. `hdbc` stays yours: SQLDisconnect it after rowlock_close. Your program must use
 * the shared driver manager (libodbc.so.2). Use both from one thread at a time, and fetch every
 * result of your own before a call of rowlock.
 *
 * EINVAL   NULL, not connected, a driver that does not report SQL_ATTR_AUTOCOMMIT, or an
 *          interrupt_fd where SQLCancel does not end a wait
 * EDRIVER  the driver manager is not installed, rowlock was built without ODBC, or it has no
 *          dialect for this database
 * ENOMEM
 */
ROWLOCK_API int rowlock_odbc_wrap(void *hdbc, const struct rowlock_options *options,
                                  struct rowlock_connection **out, struct rowlock_error *error);

/*
 * The HDBC of a connection, own or wrapped, for your own statements between the calls of rowlock.
 * Stays the connection's. NULL if it is not an ODBC connection.
 */
ROWLOCK_API void *rowlock_odbc_handle(struct rowlock_connection *connection);

#ifdef __cplusplus
}
#endif
#endif
