/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps your own PGconn (libpq) as a rowlock connection. */
#ifndef ROWLOCK_POSTGRESQL_H
#define ROWLOCK_POSTGRESQL_H

#include "../rowlock.h"

struct pg_conn; /* libpq's PGconn; this header needs no libpq-fe.h */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Wraps `handle`, so that locks are taken in its transactions. Sends nothing now, and later only
 * the statements of rowlock's calls; prepares nothing on it, so DISCARD ALL and a pooler in
 * transaction mode do no harm. With options->url, work outside your transaction uses a second
 * connection, opened when first needed.
 *
 * Does not block. `handle` stays yours: PQfinish it after rowlock_close. After PQreset close and
 * wrap again. Your program must use the shared libpq (libpq.so.5). Use both from one thread at a
 * time, and fetch every result of your own before a call of rowlock.
 *
 * EINVAL   NULL, in pipeline mode, nonblocking, in COPY, or with a result pending
 * EDRIVER  libpq is not installed, or rowlock was built without it
 * ECONN    the connection is lost
 * ENOMEM
 */
ROWLOCK_API int rowlock_postgresql_wrap(struct pg_conn *handle,
                                        const struct rowlock_options *options,
                                        struct rowlock_connection **out,
                                        struct rowlock_error *error);

/*
 * The native handle of a connection, own or wrapped, for your own statements between the calls of
 * rowlock. Stays the connection's. NULL if it is not PostgreSQL.
 */
ROWLOCK_API struct pg_conn *rowlock_postgresql_handle(struct rowlock_connection *connection);

#ifdef __cplusplus
}
#endif
#endif
