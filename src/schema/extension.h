/* SPDX-License-Identifier: Apache-2.0 */
/* PostgreSQL alone: does what is installed belong to an extension? Then SQL changes it, not we. */
#ifndef ROWLOCK_EXTENSION_H
#define ROWLOCK_EXTENSION_H

#include "session/connection.h"

/* The version of the extension, malloc'd; NULL: it belongs to none. Safe inside the caller's
   transaction. */
int rowlock__read_extension(struct rowlock_connection *connection, char **out,
                            struct rowlock_error *error);

/* What is to be typed, for a message that has to say something whatever the answer. */
const char *rowlock__upgrade_command(struct rowlock_connection *connection);
const char *rowlock__uninstall_command(struct rowlock_connection *connection, bool force);

#endif
