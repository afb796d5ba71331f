/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that the database's path still leads to the open file. If it leads to another file, a lock
   in the open one excludes no other process. */
#ifndef ROWLOCK_SQLITE_FILE_H
#define ROWLOCK_SQLITE_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "driver/sqlite_library.h"

#define ROWLOCK_SQLITE_FILES 3 /* the database, its log, the log's index */

struct rowlock_sqlite_files {
    struct {
        dev_t device;
        ino_t inode; /* 0: not seen yet */
    } file[ROWLOCK_SQLITE_FILES];
};

/* Deleted, renamed or replaced since they were first seen here. The owner of a `borrowed` handle
   may end the log, so for it only the database file counts. */
bool rowlock__sqlite_replaced(sqlite3 *db, bool borrowed, struct rowlock_sqlite_files *files);

#endif
