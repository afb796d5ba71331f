/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ROWLOCK_CHECK_H
#define ROWLOCK_CHECK_H

#include "session/connection.h"

/* Before a lock: reads it unless it has been, creates it on SQLite, refuses what does not fit
   (ESCHEMA), and prepares the statements that name a table of the installer's choice. */
int rowlock__check_installed(struct rowlock_connection *connection, struct rowlock_error *error);

/* ESCHEMA, and how to install. */
int rowlock__not_installed(struct rowlock_connection *connection, struct rowlock_error *error);

/* Technique insert: EINVAL where the name is longer than the table's column. Asked after the above. */
int rowlock__check_width(const struct rowlock_connection *connection, const char *name,
                         struct rowlock_error *error);

/*
 * SQLite, in the caller's transaction: one that has read may not become a writer any more, so what is
 * asked first writes, and the schema is looked at afterwards, when the write lock is ours, or when there
 * is no such table. `code` is what the writing came to; returns it, or what is wrong with the schema.
 */
int rowlock__check_late(struct rowlock_connection *connection, int code,
                        struct rowlock_error *error);

#endif
