/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps your own MYSQL (libmariadb) as a rowlock connection. */
#ifndef ROWLOCK_MARIADB_H
#define ROWLOCK_MARIADB_H

#include "../rowlock.h"

struct st_mysql; /* MYSQL of libmariadb */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Wraps `handle`, so that locks are taken in its transactions. Nothing stays prepared on it.
 * rowlock's procedures are looked for in options->database, or in the database that is current at
 * each call. A name never locked before needs rowlock_begin, rowlock_prepare, or options->url for
 * a second connection.
 *
 * rowlock_begin, the calls for leases (but not the fence), and rowlock_list of a name set the
 * session's isolation level to READ COMMITTED and do not restore it: at InnoDB's default a
 * transaction that has read before it locks may not see the changes that the lock waited for.
 *
 * With options->url every call ends in its time, also if the server falls silent. Without it
 * libmariadb waits for its own MYSQL_OPT_READ_TIMEOUT, by default without limit.
 *
 * Does not block. `handle` stays yours: mysql_close it after rowlock_close. Your program must use
 * the shared libmariadb (libmariadb.so.3). Use both from one thread at a time, and
 * fetch and free every result of your own before a call of rowlock.
 *
 * EINVAL   NULL, a result is pending, or an interrupt_fd without options->url: only the server
 *          can end a wait on a bare handle
 * EDRIVER  libmariadb is not installed, or rowlock was built without it
 * ECONN, ENOMEM
 */
ROWLOCK_API int rowlock_mariadb_wrap(struct st_mysql *handle, const struct rowlock_options *options,
                                     struct rowlock_connection **out, struct rowlock_error *error);

/*
 * The native handle of a connection, own or wrapped, for your own statements between the calls of
 * rowlock. Stays the connection's. NULL if it is not MariaDB or MySQL.
 */
ROWLOCK_API struct st_mysql *rowlock_mariadb_handle(struct rowlock_connection *connection);

#ifdef __cplusplus
}
#endif
#endif
