/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One statement: prepared once on a session of ours whose driver keeps it, otherwise for one call.
 * A parameter has the type that the statement declares, also for NULL; every column is read as
 * text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/odbc/link.h"
#include "driver/odbc/text.h"
#include "util/error.h"

#define O rowlock__odbc

enum { LONG_TEXT = 4000, DIGITS = 24 };

struct rowlock__odbc_prepared {
    const struct rowlock_statement *statement;
    SQLHSTMT stmt;
};

/* The data that SQLExecute reads; it must stay until the statement was executed. */
struct parameter {
    int64_t number;
    char digits[DIGITS];
    uint16_t *units; /* malloc'd, or NULL */
    SQLLEN indicator;
};

/* ---- preparing ----------------------------------------------------------------------------- */

static int find(struct rowlock_link *link, const struct rowlock_statement *statement, SQLHSTMT *out,
                struct rowlock_error *error)
{
    struct rowlock__odbc_prepared *more;
    SQLHSTMT stmt = SQL_NULL_HSTMT;
    int code;

    for (size_t i = 0; i < link->n_prepared; i++)
        if (link->prepared[i].statement == statement) {
            *out = link->prepared[i].stmt;
            return ROWLOCK_OK;
        }
    code = rowlock__odbc_check(link, O.SQLAllocHandle(SQL_HANDLE_STMT, link->dbc, &stmt),
                               SQL_HANDLE_DBC, link->dbc, error);
    if (code)
        return code;
    rowlock__odbc_begins(link, stmt);
    code = rowlock__odbc_ended(link, O.SQLPrepare(stmt, (SQLCHAR *)statement->text, SQL_NTS),
                               SQL_HANDLE_STMT, stmt, error);
    if (code && !link->dead)
        O.SQLFreeHandle(SQL_HANDLE_STMT, stmt);
    if (code)
        return code;
    *out = stmt;
    if (!link->keeps_prepared)
        return ROWLOCK_OK;
    more = realloc(link->prepared, (link->n_prepared + 1) * sizeof *more);
    if (!more) {
        O.SQLFreeHandle(SQL_HANDLE_STMT, *out);
        *out = SQL_NULL_HSTMT;
        return rowlock__no_memory(error);
    }
    link->prepared = more;
    link->prepared[link->n_prepared++] = (struct rowlock__odbc_prepared){statement, *out};
    return ROWLOCK_OK;
}

void rowlock__odbc_forget(struct rowlock_link *link)
{
    for (size_t i = 0; i < link->n_prepared; i++)
        O.SQLFreeHandle(SQL_HANDLE_STMT, link->prepared[i].stmt);
    free(link->prepared);
    link->prepared = NULL;
    link->n_prepared = 0;
}

/* ---- parameters ---------------------------------------------------------------------------- */

static SQLRETURN bind_number(const struct rowlock_link *link, SQLHSTMT stmt, SQLUSMALLINT at,
                             const struct rowlock_value *value, struct parameter *own)
{
    own->number = rowlock__value_number(value);
    if (!link->product->numbers_as_text) {
        if (own->indicator != SQL_NULL_DATA)
            own->indicator = 0;
        return O.SQLBindParameter(stmt, at, SQL_PARAM_INPUT, SQL_C_SBIGINT, SQL_BIGINT, 0, 0,
                                  &own->number, 0, &own->indicator);
    }
    snprintf(own->digits, sizeof own->digits, "%" PRId64, own->number);
    if (own->indicator != SQL_NULL_DATA)
        own->indicator = (SQLLEN)strlen(own->digits);
    return O.SQLBindParameter(stmt, at, SQL_PARAM_INPUT, SQL_C_CHAR, SQL_DECIMAL, 19, 0,
                              own->digits, sizeof own->digits, &own->indicator);
}

/* A text beyond ASCII is bound as UTF-16, which no locale affects, if the product needs that. */
static SQLRETURN bind_text(const struct rowlock_link *link, SQLHSTMT stmt, SQLUSMALLINT at,
                           const struct rowlock_value *value, struct parameter *own)
{
    const char *bytes = value->type == ROWLOCK_BYTES ? value->bytes : own->digits;
    size_t length = value->type == ROWLOCK_BYTES ? value->length : 0;

    if (value->type == ROWLOCK_INT) {
        length = (size_t)snprintf(own->digits, sizeof own->digits, "%" PRId64, value->number);
    } else if (link->product->wide && !rowlock__is_ascii(bytes, length) &&
               rowlock__odbc_is_utf16()) {
        own->units = malloc(length * sizeof *own->units);
        if (!own->units)
            return SQL_ERROR;
        length = rowlock__utf16(bytes, length, own->units);
        own->indicator = (SQLLEN)(length * sizeof *own->units);
        return O.SQLBindParameter(stmt, at, SQL_PARAM_INPUT, SQL_C_WCHAR,
                                  length > LONG_TEXT ? SQL_WLONGVARCHAR : SQL_WVARCHAR, length, 0,
                                  own->units, own->indicator, &own->indicator);
    }
    if (own->indicator != SQL_NULL_DATA)
        own->indicator = (SQLLEN)length;
    return O.SQLBindParameter(
        stmt, at, SQL_PARAM_INPUT, SQL_C_CHAR, length > LONG_TEXT ? SQL_LONGVARCHAR : SQL_VARCHAR,
        length ? length : 1, 0, (SQLPOINTER)(bytes ? bytes : ""), (SQLLEN)length, &own->indicator);
}

static int bind(struct rowlock_link *link, SQLHSTMT stmt, const struct rowlock_call *call,
                struct parameter *own, struct rowlock_error *error)
{
    const char *types = call->statement->types;

    for (unsigned i = 0; i < call->statement->parameters; i++) {
        const struct rowlock_value *value = &call->values[i];
        bool number = types ? types[i] == 'i' : value->type == ROWLOCK_INT;
        SQLUSMALLINT at = (SQLUSMALLINT)(i + 1);
        SQLRETURN result;
        int code;

        own[i].indicator = value->type == ROWLOCK_NULL ? SQL_NULL_DATA : 0;
        result = number ? bind_number(link, stmt, at, value, &own[i])
                        : bind_text(link, stmt, at, value, &own[i]);
        code = rowlock__odbc_check(link, result, SQL_HANDLE_STMT, stmt, error);
        if (code)
            return code;
    }
    return ROWLOCK_OK;
}

/* ---- rows ---------------------------------------------------------------------------------- */

struct reader {
    struct rowlock_link *link;
    SQLHSTMT stmt;
    SQLSMALLINT n;
    SQLSMALLINT types[ROWLOCK_COLUMNS];
    size_t used; /* of link->row */
};

static int make_room(struct rowlock_link *link, size_t size, struct rowlock_error *error)
{
    char *more;

    if (size <= link->row_size)
        return ROWLOCK_OK;
    size = size * 2 > 1024 ? size * 2 : 1024;
    more = realloc(link->row, size);
    if (!more)
        return rowlock__no_memory(error);
    link->row = more;
    link->row_size = size;
    return ROWLOCK_OK;
}

/* Appends one column's data to link->row, in as many parts as the driver makes of it. `unit`: the
   size of the terminator, which is not counted. */
static int get_parts(struct reader *reader, SQLUSMALLINT at, SQLSMALLINT type, size_t unit,
                     bool *is_null, struct rowlock_error *error)
{
    struct rowlock_link *link = reader->link;
    SQLRETURN result = SQL_SUCCESS_WITH_INFO;

    *is_null = false;
    while (result == SQL_SUCCESS_WITH_INFO) {
        SQLLEN left = 0;
        size_t room;
        int code = make_room(link, reader->used + 256, error);

        if (code)
            return code;
        room = (link->row_size - reader->used) / unit * unit;
        rowlock__odbc_begins(link, SQL_NULL_HSTMT);
        result =
            O.SQLGetData(reader->stmt, at, type, link->row + reader->used, (SQLLEN)room, &left);
        code = rowlock__odbc_ended(link, result, SQL_HANDLE_STMT, reader->stmt, error);
        if (code)
            return code;
        if (result == SQL_NO_DATA)
            break;
        *is_null = left == SQL_NULL_DATA;
        if (*is_null)
            return ROWLOCK_OK;
        if (left != SQL_NO_TOTAL && (size_t)left < room) { /* all of it, perhaps with a warning */
            reader->used += (size_t)left;
            return ROWLOCK_OK;
        }
        reader->used += room - unit;
    }
    return ROWLOCK_OK;
}

/* Reads one column to the end of link->row. */
static int get_column(struct reader *reader, unsigned i, size_t *length, bool *is_null,
                      struct rowlock_error *error)
{
    struct rowlock_link *link = reader->link;
    SQLSMALLINT told = reader->types[i];
    bool wide = (told == SQL_WCHAR || told == SQL_WVARCHAR || told == SQL_WLONGVARCHAR) &&
                rowlock__odbc_is_utf16();
    size_t start, bytes, unit = wide ? sizeof(uint16_t) : 1;
    int code;

    reader->used = start = (reader->used + 1) / 2 * 2; /* aligned for UTF-16 */
    code = get_parts(reader, (SQLUSMALLINT)(i + 1), wide ? SQL_C_WCHAR : SQL_C_CHAR, unit, is_null,
                     error);
    bytes = reader->used - start;
    if (code || !wide || *is_null) {
        *length = bytes;
        return code;
    }
    code = make_room(link, reader->used + bytes / 2 * 3, error);
    if (code)
        return code;
    /* converted behind the units, then moved over them */
    *length = rowlock__utf8_from_utf16((const uint16_t *)(const void *)(link->row + start),
                                       bytes / 2, link->row + start + bytes);
    memmove(link->row + start, link->row + start + bytes, *length);
    reader->used = start + *length;
    return ROWLOCK_OK;
}

static int deliver(struct reader *reader, const struct rowlock_call *call,
                   struct rowlock_error *error)
{
    struct rowlock_value columns[ROWLOCK_COLUMNS] = {{0}};
    size_t starts[ROWLOCK_COLUMNS];

    reader->used = 0;
    for (unsigned i = 0; i < (unsigned)reader->n; i++) {
        bool is_null;
        int code = get_column(reader, i, &columns[i].length, &is_null, error);

        if (code)
            return code;
        starts[i] = reader->used - columns[i].length;
        columns[i].type = is_null ? ROWLOCK_NULL : ROWLOCK_BYTES;
    }
    for (unsigned i = 0; i < (unsigned)reader->n; i++) { /* now link->row does not move any more */
        SQLSMALLINT type = reader->types[i];

        if (columns[i].type == ROWLOCK_NULL)
            continue;
        columns[i].bytes = reader->link->row + starts[i];
        if (type != SQL_BIGINT && type != SQL_INTEGER && type != SQL_SMALLINT &&
            type != SQL_TINYINT)
            continue;
        columns[i].number = rowlock__value_number(&columns[i]);
        columns[i].type = ROWLOCK_INT;
    }
    call->row(call->data, columns, (unsigned)reader->n);
    return ROWLOCK_OK;
}

static int describe(struct reader *reader, struct rowlock_error *error)
{
    int code = ROWLOCK_OK;

    for (SQLSMALLINT i = 0; i < reader->n && !code; i++) {
        SQLCHAR name[2];
        SQLSMALLINT length, digits, nullable;
        SQLULEN size;

        code = rowlock__odbc_check(reader->link,
                                   O.SQLDescribeCol(reader->stmt, (SQLUSMALLINT)(i + 1), name,
                                                    sizeof name, &length, &reader->types[i], &size,
                                                    &digits, &nullable),
                                   SQL_HANDLE_STMT, reader->stmt, error);
    }
    return code;
}

/* Describes the columns only when there is a row: most queries find none, and psqlODBC asks the
   server for the description. */
static int read_rows(struct reader *reader, const struct rowlock_call *call,
                     struct rowlock_error *error)
{
    bool described = false;
    int code = ROWLOCK_OK;

    while (!code) {
        SQLRETURN result;

        rowlock__odbc_begins(reader->link, SQL_NULL_HSTMT);
        result = O.SQLFetch(reader->stmt);
        code = rowlock__odbc_ended(reader->link, result, SQL_HANDLE_STMT, reader->stmt, error);
        if (result == SQL_NO_DATA)
            break;
        if (!code && !described)
            code = describe(reader, error);
        described = true;
        if (!code)
            code = deliver(reader, call, error);
    }
    return code;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static int execute(struct rowlock_link *link, SQLHSTMT stmt, struct rowlock_call *call,
                   struct parameter *own, struct rowlock_error *error)
{
    struct reader reader = {.link = link, .stmt = stmt};
    int64_t deadline_ms = link->budget.deadline_ms;
    SQLLEN affected = 0;
    SQLRETURN result;
    int code = bind(link, stmt, call, own, error);

    if (code)
        return code;
    /* The call's own limit is for the server. Here SQLCancel must keep it, and without SQLCancel it
       would cost the session. */
    if (call->limit_ms > 0 && link->product->cancels)
        link->budget.deadline_ms =
            rowlock__least(deadline_ms, rowlock__after(rowlock__now_ms(), call->limit_ms));
    rowlock__odbc_begins(link, stmt);
    result = O.SQLExecute(stmt);
    code = rowlock__odbc_ended(link, result, SQL_HANDLE_STMT, stmt, error);
    link->budget.deadline_ms = deadline_ms;
    if (!code)
        code = rowlock__odbc_check(link, O.SQLNumResultCols(stmt, &reader.n), SQL_HANDLE_STMT, stmt,
                                   error);
    if (code)
        return code;
    if (reader.n > ROWLOCK_COLUMNS)
        reader.n = ROWLOCK_COLUMNS;
    if (reader.n > 0)
        return call->row ? read_rows(&reader, call, error) : ROWLOCK_OK;
    if (result != SQL_NO_DATA && SQL_SUCCEEDED(O.SQLRowCount(stmt, &affected)) && affected > 0)
        call->affected = affected;
    return ROWLOCK_OK;
}

int rowlock__odbc_call(struct rowlock_link *link, struct rowlock_call *call,
                       struct rowlock_error *error)
{
    unsigned n = call->statement->parameters;
    struct parameter *own = calloc(n ? n : 1, sizeof *own);
    SQLHSTMT stmt = SQL_NULL_HSTMT;
    int code = own ? find(link, call->statement, &stmt, error) : rowlock__no_memory(error);

    call->affected = 0;
    if (!code)
        code = execute(link, stmt, call, own, error);
    for (unsigned i = 0; own && i < n; i++)
        free(own[i].units);
    free(own);
    if (!stmt || link->dead) /* on a dead link a cancel may still use the statement */
        return code;
    if (link->keeps_prepared)
        O.SQLFreeStmt(stmt, SQL_CLOSE);
    else
        O.SQLFreeHandle(SQL_HANDLE_STMT, stmt);
    return code;
}

int rowlock__odbc_text(struct rowlock_link *link, const char *text, size_t length,
                       struct rowlock_error *error)
{
    SQLHSTMT stmt = SQL_NULL_HSTMT;
    SQLRETURN result;
    int code = rowlock__odbc_check(link, O.SQLAllocHandle(SQL_HANDLE_STMT, link->dbc, &stmt),
                                   SQL_HANDLE_DBC, link->dbc, error);

    if (code)
        return code;
    rowlock__odbc_begins(link, stmt);
    /* MariaDB's driver 3.1 crashes in SQLExecDirect if the connection is lost while the columns of
       the answer are under way. Queries are rare here, so each one costs an additional round trip:
       it is prepared first. */
    if (strncmp(text, "SELECT", 6) != 0) {
        result = O.SQLExecDirect(stmt, (SQLCHAR *)text, (SQLINTEGER)length);
    } else {
        result = O.SQLPrepare(stmt, (SQLCHAR *)text, (SQLINTEGER)length);
        if (SQL_SUCCEEDED(result))
            result = O.SQLExecute(stmt);
    }
    code = rowlock__odbc_ended(link, result, SQL_HANDLE_STMT, stmt, error);
    if (!link->dead)
        O.SQLFreeHandle(SQL_HANDLE_STMT, stmt);
    return code;
}
