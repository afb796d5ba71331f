/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates a database's own errors: one table from SQLSTATE and native number to rowlock's codes.
 * Drivers report the engine's error; only this table interprets it.
 */
#ifndef ROWLOCK_FAILURE_H
#define ROWLOCK_FAILURE_H

#include <stdbool.h>

#include "rowlock.h"
#include "util/clock.h"

/*
 * Fills `error` (may be NULL) with the code for the engine's error, the engine's message and the
 * matching advice, and returns the code. `engine` is the driver's name, or behind ODBC and JDBC the
 * product's: "oracle", "sqlserver", "db2", "derby", "h2", "hsqldb". `sqlstate` may be NULL or "",
 * `native` 0. An error that the table does not have becomes EDB. Does not change
 * error->transaction.
 */
int rowlock__failure(struct rowlock_error *error, const char *engine, const char *sqlstate,
                     int native, const char *message);

/* The state in which this error leaves a transaction that was open: KEPT, ABORTED or GONE. The
   result is `otherwise` if the table has no row for it. `sqlstate` may be NULL. */
enum rowlock_transaction rowlock__failure_left(const char *engine, const char *sqlstate, int native,
                                               enum rowlock_transaction otherwise);

/* Whether an operator's cancel may have caused this code. If so, the statement has changed
   nothing. */
bool rowlock__failure_is_cancel(int code);

/* Whether DDL of another session ended the statement's wait: MariaDB's error 1689. The transaction
   is kept, and a row that the call had locked before stays locked. */
bool rowlock__failure_is_by_ddl(const struct rowlock_error *error);

/* The error of a call that was cut off at the end of its budget: ECANCELED after an interrupt,
   ECONN while connecting, otherwise ETIMEDOUT. `error` has the engine's error, whose text stays
   unless the session was given up. */
int rowlock__cut_off(struct rowlock_error *error, enum rowlock_wake why, bool connecting,
                     bool given_up);

/* The error of a call on a session that was lost before: ECONN; the transaction is DEAD. */
int rowlock__had_been_lost(struct rowlock_error *error);

/* Called before a COMMIT, does not block. ECONN, and `*dead` becomes true, if the server has ended
   the idle session: then the driver sends no COMMIT, and so the outcome is known. */
int rowlock__check_before_commit(int socket, bool *dead, struct rowlock_error *error);

/* Puts "; advice" at the end of the text of `error`, in place of the table's advice if the text
   ends with one. `error` may be NULL. */
void rowlock__advise(struct rowlock_error *error, const char *advice);

#endif
