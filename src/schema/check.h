/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the installed schema before a lock. */
#ifndef ROWLOCK_CHECK_H
#define ROWLOCK_CHECK_H

#include "session/connection.h"

/* Before a lock: reads the schema's version once per connection (on a server that has it in one
   round trip), creates the schema on SQLite, refuses a version that this library does not work with
   (ESCHEMA), and puts the installer's table name into the statements. After a success it returns at
   once; but with an older schema it reads the version in every call, so that it notices an upgrade.
   EMODE: the database has the other kind of tables (plain, or with functions); EINVAL: the URL
   names no database. */
int rowlock__check_installed(struct rowlock_connection *connection, struct rowlock_error *error);

/* The same for a call that only reads, or needs a row that exists: it creates nothing (ESCHEMA). */
int rowlock__check_present(struct rowlock_connection *connection, struct rowlock_error *error);

/* While the connection sends the statements of the former schema, a call that else checks nothing
   reads the version again: the schema may have been upgraded, more than once. */
int rowlock__check_former(struct rowlock_connection *connection, struct rowlock_error *error);

/* Returns ESCHEMA, with the command that installs. Asks for the database's name first. */
int rowlock__not_installed(struct rowlock_connection *connection, struct rowlock_error *error);

/* Whether a lock inserts its name: technique insert, except where a trigger locks natively. */
bool rowlock__inserts(const struct rowlock_connection *connection);

/* Technique insert: EINVAL if the name has more characters than the table's column. Sends nothing.
   Call it after the above. */
int rowlock__check_width(const struct rowlock_connection *connection, const char *name,
                         struct rowlock_error *error);

/*
 * SQLite, in the caller's transaction: a transaction that has read may be unable to become a
 * writer. So the first statement writes, and the schema is checked afterwards, when the write lock
 * is ours, or if the table does not exist. `code` is the result of the write; returns it, or the
 * schema's error. `error` must not be NULL.
 */
int rowlock__check_late(struct rowlock_connection *connection, int code,
                        struct rowlock_error *error);

#endif
