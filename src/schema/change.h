/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of the schema, for install and uninstall. */
#ifndef ROWLOCK_CHANGE_H
#define ROWLOCK_CHANGE_H

#include "schema/text.h"
#include "session/connection.h"

/* Between these two calls no other node changes the schema, except on the plain dialects
   (change.c). rowlock__leave_install commits, or rolls back if `code` is an error. It returns
   `code`, or the error of the COMMIT. */
int rowlock__enter_install(struct rowlock_connection *connection, struct rowlock_error *error);
int rowlock__leave_install(struct rowlock_connection *connection, int code,
                           struct rowlock_error *error);

/* Runs a piece of the schema's text. Does nothing if the dialect lacks the piece. */
int rowlock__run_piece(struct rowlock_connection *connection, const char *name,
                       const struct rowlock_names *names, struct rowlock_error *error);

/* For EDENIED: replaces the advice in `error` by the GRANT that this account needs. */
int rowlock__say_needs(struct rowlock_connection *connection, enum rowlock_technique technique,
                       int code, struct rowlock_error *error);

#endif
