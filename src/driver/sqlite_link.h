/* SPDX-License-Identifier: Apache-2.0 */
/* A link of the driver for SQLite, and the execution of one statement. Private to its files. */
#ifndef ROWLOCK_SQLITE_LINK_H
#define ROWLOCK_SQLITE_LINK_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "driver/driver.h"
#include "driver/library.h"
#include "rowlock.h"
#include "util/clock.h"

/* The functions of libsqlite3 that the driver uses, loaded on first use. */

#define ROWLOCK_SQLITE_FUNCTIONS(XX) \
    XX(sqlite3_libversion)           \
    XX(sqlite3_open_v2)              \
    XX(sqlite3_close_v2)             \
    XX(sqlite3_prepare_v2)           \
    XX(sqlite3_finalize)             \
    XX(sqlite3_step)                 \
    XX(sqlite3_reset)                \
    XX(sqlite3_clear_bindings)       \
    XX(sqlite3_bind_null)            \
    XX(sqlite3_bind_int64)           \
    XX(sqlite3_bind_text)            \
    XX(sqlite3_column_count)         \
    XX(sqlite3_column_type)          \
    XX(sqlite3_column_int64)         \
    XX(sqlite3_column_text)          \
    XX(sqlite3_column_bytes)         \
    XX(sqlite3_changes)              \
    XX(sqlite3_stmt_readonly)        \
    XX(sqlite3_exec)                 \
    XX(sqlite3_errmsg)               \
    XX(sqlite3_extended_errcode)     \
    XX(sqlite3_get_autocommit)       \
    XX(sqlite3_txn_state)            \
    XX(sqlite3_busy_timeout)         \
    XX(sqlite3_db_config)            \
    XX(sqlite3_db_filename)          \
    XX(sqlite3_file_control)         \
    XX(sqlite3_wal_hook)             \
    XX(sqlite3_wal_checkpoint_v2)

struct rowlock_sqlite_library {
    ROWLOCK_SQLITE_FUNCTIONS(ROWLOCK_LIBRARY_MEMBER)
};

/* Valid after rowlock__load, which every open() calls. */
extern struct rowlock_sqlite_library rowlock__sqlite;
extern struct rowlock_library rowlock__sqlite_client;

/* Checks that the database's path still leads to the open file. If it leads to another file, a lock
   in the open one excludes no other process. */

#define ROWLOCK_SQLITE_FILES 3 /* the database, its log, the log's index */

/* The files as they were first seen; zeroed at first. The log and its index are created with the
   first write, so they may be seen later. */
struct rowlock_sqlite_files {
    struct {
        dev_t device;
        ino_t inode; /* 0: not seen yet */
    } file[ROWLOCK_SQLITE_FILES];
};

/* Whether a file was deleted, renamed or replaced since it was first seen here. The owner of a
   `borrowed` handle may end the log, so for it only the database file counts. A file that cannot be
   looked at is not gone; a database in memory never is. */
bool rowlock__sqlite_replaced(sqlite3 *db, bool borrowed, struct rowlock_sqlite_files *files);

/* A statement compiled for this link. An own link keeps it; on a borrowed handle run() discards
   it. */
struct rowlock__sqlite_compiled {
    const struct rowlock_statement *statement;
    sqlite3_stmt *stmt;
};

/* An open database file; open() makes it. One thread uses it at a time. */
struct rowlock_link {
    sqlite3 *db;
    int borrowed;           /* the caller's handle: never closed */
    int64_t caller_timeout; /* borrowed: the busy_timeout to restore, in milliseconds */
    struct rowlock__sqlite_compiled *cache;
    size_t n;
    unsigned commits; /* a link that commits often checkpoints the log less often */
    bool replaced;    /* the file was replaced; permanent */
    struct rowlock_sqlite_files files;
};

/* Fills `error` from SQLite's last error. Returns the code. */
int rowlock__sqlite_failure(struct rowlock_link *link, struct rowlock_error *error);

/* Pauses, and returns whether a file that is busy may be asked again. False: the budget has ended;
   after its deadline `*code` and `error` stay those of the busy file, after an interrupt they
   report that. */
bool rowlock__sqlite_waits(struct rowlock_pause *pause, const struct rowlock_budget *budget,
                           int *code, struct rowlock_error *error);

/* Executes a statement, waiting for a busy file until the budget ends. `call`, which has the
   parameters and receives the rows, may be NULL. A transaction that has read before and cannot
   become the writer fails at once with ESNAPSHOT, because a wait would not help. */
int rowlock__sqlite_execute(struct rowlock_link *link, const struct rowlock_statement *statement,
                            struct rowlock_call *call, const struct rowlock_budget *budget,
                            struct rowlock_error *error);

/* Frees the compiled statements: before the file is closed, and at the end of each run() on a
   borrowed handle. */
void rowlock__sqlite_forget(struct rowlock_link *link);

/* The path of a SQLite database: creates its file, and explains why a path cannot be used. */

/* Whether the file can be used. With `creates`, creates it with mode 0600 unless it exists; else
   fails with ESERVER if it does not exist. ECONN: a temporary failure; ESERVER, EDENIED: the path,
   or its permissions, must be corrected. */
int rowlock__sqlite_check(const char *path, bool creates, struct rowlock_error *error);

/* ESERVER if the file has, or may have, a second path: hard links, or a mount of the file alone.
   SQLite names the log after the path, so callers by two paths would not see each other's locks. A
   caller by the original path cannot notice such a mount, but every caller by the mount is refused.
   The function above includes this check. */
int rowlock__sqlite_check_links(const char *path, struct rowlock_error *error);

#endif
