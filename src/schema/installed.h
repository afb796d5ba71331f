/* SPDX-License-Identifier: Apache-2.0 */
/* What is installed at the other end, and whether this library can work with it. */
#ifndef ROWLOCK_INSTALLED_H
#define ROWLOCK_INSTALLED_H

#include "session/connection.h"

/* Reads what is there; version 0: nothing, or with a technique an install or uninstall that was cut off. Safe
   inside the caller's transaction. */
int rowlock__read_installed(struct rowlock_connection *connection, struct rowlock_installed *out,
                            struct rowlock_error *error);

/* The same, but a table meta of another shape counts as none: rowlock__read_parts names that damage. */
int rowlock__read_found(struct rowlock_connection *connection, struct rowlock_installed *found,
                        struct rowlock_error *error);

/* EINVAL where the session has no database: then nothing can be there, nor be locked. */
int rowlock__has_database(struct rowlock_connection *connection, struct rowlock_error *error);

/* "row" and the like; DEFAULT for what is unknown. */
enum rowlock_technique rowlock__technique_of(const char *name);
const char *rowlock__technique_name(enum rowlock_technique technique);

#endif
