/* SPDX-License-Identifier: Apache-2.0 */
/* The path of a SQLite database: its file is created, and a path that cannot be used is explained. */
#ifndef ROWLOCK_SQLITE_PATH_H
#define ROWLOCK_SQLITE_PATH_H

struct rowlock_error;

/* Creates the file with mode 0600, whatever the umask is, unless it exists. ECONN: the reason may pass;
   ESERVER, EDENIED: it lasts until somebody repairs it. */
int rowlock__sqlite_create(const char *path, struct rowlock_error *error);

#endif
