/* SPDX-License-Identifier: Apache-2.0 */
/* One statement on SQLite: compiled once, retried while another process writes to the file. */
#include <stdlib.h>

#include "driver/failure.h"
#include "driver/sqlite_link.h"
#include "util/clock.h"
#include "util/error.h"

#define S rowlock__sqlite

int rowlock__sqlite_failure(struct rowlock_link *link, struct rowlock_error *error)
{
    int native = S.sqlite3_extended_errcode(link->db);

    return rowlock__failure(error, "sqlite", "", native, S.sqlite3_errmsg(link->db));
}

void rowlock__sqlite_forget(struct rowlock_link *link)
{
    for (size_t i = 0; i < link->n; i++)
        S.sqlite3_finalize(link->cache[i].stmt);
    free(link->cache);
    link->cache = NULL;
    link->n = 0;
}

/* Compiled statements are kept for the link's life on own connections, for one run on borrowed
   ones. */
static int find(struct rowlock_link *link, const struct rowlock_statement *statement,
                sqlite3_stmt **out, struct rowlock_error *error)
{
    struct rowlock__sqlite_compiled *grown;

    for (size_t i = 0; i < link->n; i++)
        if (link->cache[i].statement == statement) {
            *out = link->cache[i].stmt;
            return ROWLOCK_OK;
        }
    grown = realloc(link->cache, (link->n + 1) * sizeof *grown);
    if (!grown)
        return rowlock__no_memory(error);
    link->cache = grown;
    if (S.sqlite3_prepare_v2(link->db, statement->text, -1, out, NULL) != SQLITE_OK)
        return rowlock__sqlite_failure(link, error);
    link->cache[link->n++] = (struct rowlock__sqlite_compiled){statement, *out};
    return ROWLOCK_OK;
}

static void deliver(sqlite3_stmt *stmt, const struct rowlock_call *call)
{
    struct rowlock_value columns[ROWLOCK_COLUMNS] = {{0}};
    int n = S.sqlite3_column_count(stmt);

    for (int i = 0; i < n && i < ROWLOCK_COLUMNS; i++) {
        int type = S.sqlite3_column_type(stmt, i);

        if (type == SQLITE_NULL)
            continue;
        if (type == SQLITE_INTEGER) {
            columns[i] = rowlock__int_value(S.sqlite3_column_int64(stmt, i));
            continue;
        }
        columns[i].type = ROWLOCK_BYTES;
        columns[i].bytes = (const char *)S.sqlite3_column_text(stmt, i);
        columns[i].length = (size_t)S.sqlite3_column_bytes(stmt, i);
    }
    call->row(call->data, columns, n < ROWLOCK_COLUMNS ? (unsigned)n : ROWLOCK_COLUMNS);
}

/* A transaction that has only read holds a snapshot, which waiting for the writer would make
   stale. */
static int step_once(struct rowlock_link *link, sqlite3_stmt *stmt, const struct rowlock_call *call,
                     int *busy, struct rowlock_error *error)
{
    int native, code = ROWLOCK_OK;

    while ((native = S.sqlite3_step(stmt)) == SQLITE_ROW)
        if (call && call->row)
            deliver(stmt, call);
    *busy = 0;
    if (native != SQLITE_DONE) {
        code = rowlock__sqlite_failure(link, error);
        *busy = (native & 0xff) == SQLITE_BUSY &&
                S.sqlite3_extended_errcode(link->db) != SQLITE_BUSY_SNAPSHOT;
    }
    S.sqlite3_reset(stmt);
    if (!*busy || S.sqlite3_get_autocommit(link->db) ||
        S.sqlite3_txn_state(link->db, "main") != SQLITE_TXN_READ)
        return code;
    *busy = 0;
    return rowlock__failure(error, "sqlite", "", SQLITE_BUSY_SNAPSHOT,
                            "the transaction has read already and another is writing");
}

bool rowlock__sqlite_waits(struct rowlock_pause *pause, const struct rowlock_budget *budget,
                           int *code, struct rowlock_error *error)
{
    enum rowlock_wake wake = rowlock__pause(pause, budget->interrupt_fd, budget->deadline_ms);

    if (wake == ROWLOCK_WAKE_INTERRUPT)
        *code = rowlock__fail(error, ROWLOCK_ECANCELED, "interrupted");
    return wake == ROWLOCK_WAKE_READY;
}

int rowlock__sqlite_execute(struct rowlock_link *link, const struct rowlock_statement *statement,
                            struct rowlock_call *call, const struct rowlock_budget *budget,
                            struct rowlock_error *error)
{
    struct rowlock_pause pause = ROWLOCK_PAUSE_SQLITE, again = ROWLOCK_PAUSE_SQLITE;
    sqlite3_stmt *stmt = NULL;
    int busy, code;

    /* compiling reads the schema, so it may find the file busy while another process opens or
       closes it */
    do
        code = find(link, statement, &stmt, error);
    while (code == ROWLOCK_ETIMEDOUT && rowlock__sqlite_waits(&pause, budget, &code, error));
    if (code)
        return code;
    for (unsigned i = 0; call && i < statement->parameters; i++) {
        const struct rowlock_value *value = &call->values[i];
        int at = (int)i + 1;

        if (value->type == ROWLOCK_INT)
            S.sqlite3_bind_int64(stmt, at, value->number);
        else if (value->type == ROWLOCK_BYTES)
            S.sqlite3_bind_text(stmt, at, value->bytes, (int)value->length, SQLITE_STATIC);
        else
            S.sqlite3_bind_null(stmt, at);
    }
    do
        code = step_once(link, stmt, call, &busy, error);
    while (busy && rowlock__sqlite_waits(&again, budget, &code, error));
    if (call) /* a query does not set it */
        call->affected = S.sqlite3_stmt_readonly(stmt) ? 0 : S.sqlite3_changes(link->db);
    S.sqlite3_clear_bindings(stmt);
    return code;
}
