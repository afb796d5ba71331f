/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of libsqlite3 that the driver uses, loaded on first use. */
#ifndef ROWLOCK_SQLITE_LIBRARY_H
#define ROWLOCK_SQLITE_LIBRARY_H

#include <sqlite3.h>
#include <stdio.h>

#include "rowlock.h"

#define ROWLOCK_SQLITE_FUNCTIONS(XX) \
    XX(sqlite3_libversion)           \
    XX(sqlite3_open_v2)              \
    XX(sqlite3_close_v2)             \
    XX(sqlite3_prepare_v2)           \
    XX(sqlite3_finalize)             \
    XX(sqlite3_step)                 \
    XX(sqlite3_reset)                \
    XX(sqlite3_clear_bindings)       \
    XX(sqlite3_bind_parameter_count) \
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
    XX(sqlite3_errstr)               \
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
#define ROWLOCK_XX(function) __typeof__(function) *function;
    ROWLOCK_SQLITE_FUNCTIONS(ROWLOCK_XX)
#undef ROWLOCK_XX
};

extern struct rowlock_sqlite_library rowlock__sqlite;

/* EDRIVER if it is missing; any thread. */
int rowlock__sqlite_load(struct rowlock_error *error);
/* Of struct rowlock_driver. */
void rowlock__sqlite_describe(FILE *out);

#endif
