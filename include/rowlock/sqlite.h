/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps your own sqlite3 as a rowlock connection. */
#ifndef ROWLOCK_SQLITE_H
#define ROWLOCK_SQLITE_H

#include "../rowlock.h"

struct sqlite3;

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Wraps `handle`, so that locks are taken in its transactions. rowlock's tables live in its main
 * database; the first rowlock_begin creates them. Your busy_timeout is cleared during each call and
 * restored afterwards. A busy handler cannot be read, so it stays in place and waits as programmed.
 *
 * Does not block. `handle` stays yours: close it after rowlock_close, and never carry it over a
 * fork. Your program must use the shared SQLite (libsqlite3.so.0, 3.34 or later). Use both from
 * one thread at a time.
 *
 * EINVAL   NULL
 * EDRIVER  SQLite is not installed, or rowlock was built without it
 * ENOMEM
 */
ROWLOCK_API int rowlock_sqlite_wrap(struct sqlite3 *handle, const struct rowlock_options *options,
                                    struct rowlock_connection **out, struct rowlock_error *error);

/*
 * The native handle of a connection, own or wrapped, for your own statements between the calls of
 * rowlock. Stays the connection's. NULL if it is not SQLite.
 */
ROWLOCK_API struct sqlite3 *rowlock_sqlite_handle(struct rowlock_connection *connection);

#ifdef __cplusplus
}
#endif
#endif
