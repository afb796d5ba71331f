/* SPDX-License-Identifier: Apache-2.0 */
/* PostgreSQL only: detects a schema that belongs to an extension, which only SQL may change. The
   check of a schema's version is here too, because its advice depends on that. */
#ifndef ROWLOCK_EXTENSION_H
#define ROWLOCK_EXTENSION_H

#include "session/connection.h"

/* The version of the extension, malloc'd; NULL: not an extension. Safe inside the caller's
   transaction. */
int rowlock__read_extension(struct rowlock_connection *connection, char **out,
                            struct rowlock_error *error);

/* The command that upgrades the schema, for a message; static text. It is rowlock's own command if
   the schema is not an extension, or if that cannot be detected. */
const char *rowlock__upgrade_command(struct rowlock_connection *connection);
/* ESCHEMA if this library works with another version of the schema. */
int rowlock__check_version(struct rowlock_connection *connection, int version,
                           struct rowlock_error *error);
/* The same for the command that removes the schema. */
const char *rowlock__uninstall_command(struct rowlock_connection *connection, bool force);

#endif
