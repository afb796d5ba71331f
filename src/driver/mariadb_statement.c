/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one statement with bound values and reads its rows. A session of our own prepares it once
 * and keeps it. A borrowed handle keeps nothing: the statement is sent unprepared with its values
 * in one round trip, or, if the call must be interruptible, prepared, executed and closed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/mariadb_link.h"
#include "util/error.h"

enum { PARAMETERS = 16, COLUMNS = ROWLOCK_COLUMNS };

#define MOST_MS INT64_C(31536000000) /* the maximum of max_statement_time: a year */

static const char limit_text[] = "SET STATEMENT max_statement_time = CAST(? AS DOUBLE) FOR ";

struct parameters {
    MYSQL_BIND bind[PARAMETERS];
    unsigned long length[PARAMETERS];
    double limit_s;
    unsigned n;
};

struct columns {
    MYSQL_BIND bind[COLUMNS];
    unsigned long length[COLUMNS];
    my_bool null[COLUMNS];
    int64_t number[COLUMNS];
    struct rowlock_value value[COLUMNS];
    unsigned n;
    char *memory;
};

static int statement_failure(struct rowlock_link *link, MYSQL_STMT *stmt,
                             struct rowlock_error *error)
{
    return rowlock__mariadb_failure(link, rowlock__mariadb.stmt_number(stmt),
                                    rowlock__mariadb.stmt_sqlstate(stmt),
                                    rowlock__mariadb.stmt_text(stmt), error);
}

static void bind_parameters(struct parameters *p, const struct rowlock_call *call, double limit_s)
{
    memset(p, 0, sizeof *p);
    p->limit_s = limit_s;
    if (limit_s > 0) {
        p->bind[0].buffer_type = MYSQL_TYPE_DOUBLE;
        p->bind[0].buffer = &p->limit_s;
        p->n = 1;
    }
    for (unsigned i = 0; i < call->statement->parameters; i++) {
        const char *order = call->statement->order;
        const struct rowlock_value *value = &call->values[order ? order[i] - '1' : (int)i];
        MYSQL_BIND *bind = &p->bind[p->n];

        if (value->type == ROWLOCK_INT) {
            bind->buffer_type = MYSQL_TYPE_LONGLONG;
            bind->buffer = (void *)&value->number;
        } else if (value->type == ROWLOCK_BYTES) {
            p->length[p->n] = (unsigned long)value->length;
            bind->buffer_type = MYSQL_TYPE_BLOB;
            bind->buffer = (void *)(value->bytes ? value->bytes : "");
            bind->buffer_length = p->length[p->n];
            bind->length = &p->length[p->n];
        } else {
            bind->buffer_type = MYSQL_TYPE_NULL;
        }
        p->n++;
    }
}

/* The text to send: qualified on a borrowed handle, and with the time limit around it. */
static char *make_text(const struct rowlock_link *link, const char *text, bool limited)
{
    char *qualified, *whole;
    size_t size;

    qualified = link->database ? rowlock__mariadb_qualify(text, link->database) : strdup(text);
    if (!qualified || !limited)
        return qualified;
    size = sizeof limit_text + strlen(qualified);
    whole = malloc(size);
    if (whole)
        snprintf(whole, size, "%s%s", limit_text, qualified);
    free(qualified);
    return whole;
}

static MYSQL_STMT *new_statement(struct rowlock_link *link)
{
    MYSQL_STMT *stmt = rowlock__mariadb.stmt_init(link->mysql);
    my_bool yes = 1;

    if (stmt)
        rowlock__mariadb.stmt_attr_set(stmt, STMT_ATTR_UPDATE_MAX_LENGTH, &yes);
    return stmt;
}

/* Buffers for the widest value of each column of the stored result. */
static int bind_columns(struct columns *c, MYSQL_STMT *stmt, const MYSQL_FIELD *fields)
{
    size_t size = 1, at = 0;

    for (unsigned i = 0; i < c->n; i++)
        size += fields[i].max_length;
    c->memory = malloc(size);
    if (!c->memory)
        return -1;
    for (unsigned i = 0; i < c->n; i++) {
        enum enum_field_types type = fields[i].type;

        c->bind[i].length = &c->length[i];
        c->bind[i].is_null = &c->null[i];
        if (type == MYSQL_TYPE_TINY || type == MYSQL_TYPE_SHORT || type == MYSQL_TYPE_LONG ||
            type == MYSQL_TYPE_INT24 || type == MYSQL_TYPE_LONGLONG) {
            c->bind[i].buffer_type = MYSQL_TYPE_LONGLONG;
            c->bind[i].buffer = &c->number[i];
            continue;
        }
        c->bind[i].buffer_type = MYSQL_TYPE_STRING;
        c->bind[i].buffer = c->memory + at;
        c->bind[i].buffer_length = fields[i].max_length;
        at += fields[i].max_length;
    }
    return rowlock__mariadb.stmt_bind_result(stmt, c->bind);
}

static void pass_row(const struct rowlock_call *call, struct columns *c)
{
    for (unsigned i = 0; i < c->n; i++) {
        struct rowlock_value *value = &c->value[i];

        memset(value, 0, sizeof *value);
        if (c->null[i])
            continue;
        if (c->bind[i].buffer_type == MYSQL_TYPE_LONGLONG) {
            value->type = ROWLOCK_INT;
            value->number = c->number[i];
        } else {
            value->type = ROWLOCK_BYTES;
            value->bytes = c->bind[i].buffer;
            value->length = c->length[i];
        }
    }
    call->row(call->data, c->value, c->n);
}

static int pass_rows(struct rowlock_link *link, MYSQL_STMT *stmt, const struct rowlock_call *call,
                     bool *passed, struct rowlock_error *error)
{
    MYSQL_RES *metadata = rowlock__mariadb.stmt_result_metadata(stmt);
    struct columns c = {0};
    int code = ROWLOCK_OK, fetched;

    if (!metadata)
        return statement_failure(link, stmt, error);
    c.n = metadata->field_count < COLUMNS ? metadata->field_count : COLUMNS;
    if (metadata->field_count > COLUMNS) {
        code = rowlock__fail(error, ROWLOCK_EDB, "a result of more than %d columns", COLUMNS);
        goto out;
    }
    if (bind_columns(&c, stmt, metadata->fields) != 0) {
        code = rowlock__no_memory(error);
        goto out;
    }
    while ((fetched = rowlock__mariadb.stmt_fetch(stmt)) == 0 || fetched == MYSQL_DATA_TRUNCATED) {
        pass_row(call, &c);
        *passed = true;
    }
    if (fetched != MYSQL_NO_DATA)
        code = statement_failure(link, stmt, error);
out:
    free(c.memory);
    rowlock__mariadb.free_result(metadata);
    return code;
}

/* Passes the first result set with rows to the caller, because a procedure whose SELECT fails has
   sent an empty one before its handler answers. Reads all result sets: otherwise the session could
   not continue. */
static int read_results(struct rowlock_link *link, MYSQL_STMT *stmt, struct rowlock_call *call,
                        struct rowlock_error *error)
{
    bool passed = call->row == NULL;
    int code = ROWLOCK_OK, failed = 0;

    for (;;) {
        if (rowlock__mariadb.stmt_field_count(stmt) > 0) {
            ROWLOCK_MARIADB_CALL(link, failed, stmt_store_result, stmt);
            if (failed)
                return statement_failure(link, stmt, error);
            if (!passed && !code)
                code = pass_rows(link, stmt, call, &passed, error);
        }
        if (!rowlock__mariadb.stmt_more_results(stmt))
            break;
        ROWLOCK_MARIADB_CALL(link, failed, stmt_next_result, stmt);
        if (failed > 0)
            return statement_failure(link, stmt, error);
        if (failed < 0)
            break;
    }
    call->affected = (int64_t)rowlock__mariadb.stmt_affected_rows(stmt);
    if (call->affected < 0)
        call->affected = 0;
    if (call->statement->order && call->row && call->affected > 0) {
        struct rowlock_value id = {.type = ROWLOCK_INT,
                                   .number = (int64_t)rowlock__mariadb.stmt_insert_id(stmt)};

        call->row(call->data, &id, 1);
    }
    rowlock__mariadb.stmt_free_result(stmt);
    return code;
}

/* Non-blocking. The statement is kept on a session of our own, and closed on a borrowed handle. It
   is also closed if an error cut its results off: the library then keeps the columns of the last
   result that it read, and would read an execution without a result as if it had them. */
static int call_prepared(struct rowlock_link *link, struct rowlock_call *call, struct parameters *p,
                         struct rowlock_error *error)
{
    MYSQL_STMT *fresh = NULL, **kept = NULL;
    MYSQL_STMT *stmt;
    char *text = NULL;
    int code = ROWLOCK_OK, failed = 0;
    /* Older libraries keep the flags of an earlier answer of a CALL ("more results", "no
       transaction"): an executed statement then waits forever for further results. Observed with
       3.2.6 and 3.3.8 (Ubuntu 22.04 and 24.04), not with 3.3.20 (Debian 12). */
    bool keeps = link->own && rowlock__mariadb.client_version() >= 30320;

    for (size_t i = 0; keeps && !kept && i < ROWLOCK_SQL_COUNT; i++) {
        struct rowlock__mariadb_prepared *prepared = &link->prepared[i];

        if (!prepared->statement)
            prepared->statement = call->statement;
        if (prepared->statement == call->statement)
            kept = &prepared->stmt[p->limit_s > 0];
    }
    stmt = kept ? *kept : NULL;
    if (!stmt) {
        text = make_text(link, call->statement->text, p->limit_s > 0);
        fresh = stmt = new_statement(link);
        if (!text || !stmt) {
            code = rowlock__no_memory(error);
            goto out;
        }
        ROWLOCK_MARIADB_PUMPED(link, stmt_prepare, &failed, stmt,
                               (&failed, stmt, text, strlen(text)));
        if (failed != 0) {
            code = statement_failure(link, stmt, error);
            goto out;
        }
        if (kept) {
            *kept = stmt;
            fresh = NULL;
        }
    }
    failed = p->n > 0 && rowlock__mariadb.stmt_bind_param(stmt, p->bind) != 0;
    if (!failed)
        ROWLOCK_MARIADB_PUMPED(link, stmt_execute, &failed, stmt, (&failed, stmt));
    if (failed != 0) {
        code = statement_failure(link, stmt, error);
    } else if ((code = read_results(link, stmt, call, error)) != ROWLOCK_OK && kept) {
        *kept = NULL;
        fresh = stmt;
    }
out:
    free(text);
    if (fresh)
        rowlock__mariadb.stmt_close(fresh);
    return code;
}

/* Runs the call in one round trip; nothing stays prepared. */
static int call_direct(struct rowlock_link *link, struct rowlock_call *call, struct parameters *p,
                       struct rowlock_error *error)
{
    char *text = make_text(link, call->statement->text, p->limit_s > 0);
    MYSQL_STMT *stmt = new_statement(link);
    int code;

    if (!text || !stmt) {
        code = rowlock__no_memory(error);
        goto out;
    }
    rowlock__mariadb.stmt_attr_set(stmt, STMT_ATTR_PREBIND_PARAMS, &p->n);
    if ((p->n > 0 && rowlock__mariadb.stmt_bind_param(stmt, p->bind) != 0) ||
        rowlock__mariadb.stmt_execute_direct(stmt, text, strlen(text)) != 0)
        code = statement_failure(link, stmt, error);
    else
        code = read_results(link, stmt, call, error);
out:
    free(text);
    if (stmt)
        rowlock__mariadb.stmt_close(stmt);
    return code;
}

int rowlock__mariadb_call(struct rowlock_link *link, struct rowlock_call *call,
                          struct rowlock_error *error)
{
    const struct rowlock__mariadb_wait *wait = &link->wait;
    int64_t limit_ms = call->limit_ms, left_ms;
    struct parameters p;

    if (call->statement->parameters + 1 > PARAMETERS)
        return rowlock__fail(error, ROWLOCK_EINVAL, "a statement of more than %d parameters",
                             PARAMETERS - 1);
    /* the time limit for the server; a handle that blocks has no other deadline */
    if (!wait->pumped && wait->budget.deadline_ms != ROWLOCK_NEVER) {
        left_ms = rowlock__most(wait->budget.deadline_ms - rowlock__now_ms(), 1);
        limit_ms = limit_ms > 0 ? rowlock__least(limit_ms, left_ms) : left_ms;
    }
    if (link->dialect != &rowlock__dialect_mariadb || limit_ms > MOST_MS)
        limit_ms = 0;
    bind_parameters(&p, call, limit_ms > 0 ? (double)limit_ms / 1000 : 0);
    call->affected = 0;
    if (wait->pumped)
        return call_prepared(link, call, &p, error);
    return call_direct(link, call, &p, error);
}

void rowlock__mariadb_forget(struct rowlock_link *link)
{
    for (size_t i = 0; i < ROWLOCK_SQL_COUNT; i++)
        for (size_t j = 0; j < 2; j++)
            if (link->prepared[i].stmt[j])
                rowlock__mariadb.stmt_close(link->prepared[i].stmt[j]);
    memset(link->prepared, 0, sizeof link->prepared);
}
