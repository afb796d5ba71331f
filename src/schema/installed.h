/* SPDX-License-Identifier: Apache-2.0 */
/* The schema installed in the database, and whether this library can work with it. */
#ifndef ROWLOCK_INSTALLED_H
#define ROWLOCK_INSTALLED_H

#include "session/connection.h"

/* Refuses a database that has the tables of the other kind: plain, or with functions. EMODE. */
int rowlock__other_tables(const struct rowlock_connection *connection, struct rowlock_error *error);

/* Reads what is installed. Version 0: nothing; with a technique: an interrupted install or
   uninstall. Safe inside the caller's transaction. */
int rowlock__read_installed(struct rowlock_connection *connection, struct rowlock_installed *out,
                            struct rowlock_error *error);

/* Reads the same for a call that needs the schema. On a server it reads the table without a search
   for it first; if the table is missing, the server logs an error. */
int rowlock__read_expected(struct rowlock_connection *connection, struct rowlock_installed *out,
                           struct rowlock_error *error);

/* As rowlock__read_installed, but a table meta of another shape counts as none: rowlock__read_parts
   reports that damage. */
int rowlock__read_found(struct rowlock_connection *connection, struct rowlock_installed *found,
                        struct rowlock_error *error);

/* EINVAL if the session has no current database: then nothing can be installed or locked there. */
int rowlock__has_database(struct rowlock_connection *connection, struct rowlock_error *error);

/* The technique of a name such as "row"; DEFAULT for an unknown name. */
enum rowlock_technique rowlock__technique_of(const char *name);
const char *rowlock__technique_name(enum rowlock_technique technique);

#endif
