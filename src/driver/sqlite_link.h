/* SPDX-License-Identifier: Apache-2.0 */
/* A link of the driver for SQLite, and the execution of one statement. Private to its files. */
#ifndef ROWLOCK_SQLITE_LINK_H
#define ROWLOCK_SQLITE_LINK_H

#include "driver/driver.h"
#include "driver/sqlite_file.h"
#include "driver/sqlite_library.h"

struct rowlock__sqlite_compiled {
    const struct rowlock_statement *statement;
    sqlite3_stmt **parts; /* one text may hold several statements */
    size_t n;
};

struct rowlock_link {
    sqlite3 *db;
    int borrowed;
    int caller_timeout; /* borrowed: the busy_timeout to restore */
    struct rowlock__sqlite_compiled *cache;
    size_t n;
    unsigned commits;
    bool replaced; /* the file was replaced; permanent */
    struct rowlock_sqlite_files files;
};

/* Fills `error` from SQLite's last error. Returns the code. */
int rowlock__sqlite_failure(struct rowlock_link *link, struct rowlock_error *error);

/* Executes every statement of the text, waiting for a busy file until the budget ends. `call` may
   be NULL. */
int rowlock__sqlite_execute(struct rowlock_link *link, const struct rowlock_statement *statement,
                            struct rowlock_call *call, const struct rowlock_budget *budget,
                            struct rowlock_error *error);

/* Frees the compiled statements. */
void rowlock__sqlite_forget(struct rowlock_link *link);

#endif
