/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ODBC driver without a database, for the products of which no server is at hand. It replays a
 * script and logs everything that it receives. The connection string names both files, and the
 * product that it pretends to be: Driver=/path/fake_odbc.so;Product=Oracle;Script=FILE;Log=FILE.
 * With Ends=0 it forgets prepared statements at the end of a transaction. With Mode=unknown it does
 * not tell its autocommit mode.
 *
 * A line of the script is one answer: PREFIX|SQLSTATE|NATIVE|TEXT is an error, PREFIX|ROW|COLUMN...
 * a row of the columns nTEXT (a decimal), iTEXT (an integer), wTEXT (UTF-16), cTEXT, or - (NULL),
 * and PREFIX|HANG waits until SQLCancel. The first unused line whose PREFIX fits the statement is
 * the answer, and is used up; without one the statement succeeds. CONNECT, COMMIT and ROLLBACK are
 * statements too.
 *
 * The driver manager calls it like any driver, in one thread, and in one more for SQLCancel.
 */
#include <sql.h>
#include <sqlext.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINES = 64, COLUMNS = 8, PARAMETERS = 16, WIDTH = 600 };

struct line {
    char text[WIDTH];
    int used;
};

struct session {
    struct line lines[LINES];
    int n;
    char product[64], log[300];
    char ends[8]; /* the effect of COMMIT and ROLLBACK on prepared statements: SQL_CB_... */
    char mode[8];
    struct handle *statements;
};

struct parameter {
    SQLSMALLINT c_type, sql_type;
    SQLPOINTER data;
    SQLLEN *indicator;
};

/* An environment, a connection or a statement. */
struct handle {
    struct session *session; /* of a connection, and of its statements */
    char sqlstate[6], text[WIDTH];
    SQLINTEGER native;
    char sql[WIDTH];
    struct parameter parameters[PARAMETERS];
    char row[WIDTH];
    char *columns[COLUMNS];
    int n_columns, rows;
    size_t given[COLUMNS]; /* bytes of the column that SQLGetData gave out */
    atomic_int cancelled;
    struct handle *next; /* statement of the session */
};

/* ---- script and log ------------------------------------------------------------------------ */

static void note(const struct session *session, const char *what, const char *text)
{
    FILE *file = session && session->log[0] ? fopen(session->log, "a") : NULL;

    if (!file)
        return;
    fprintf(file, "%s %s\n", what, text);
    fclose(file);
}

static void read_script(struct session *session, const char *path)
{
    FILE *file = fopen(path, "r");

    while (file && session->n < LINES && fgets(session->lines[session->n].text, WIDTH, file)) {
        char *text = session->lines[session->n++].text;

        text[strcspn(text, "\n")] = '\0';
    }
    if (file)
        fclose(file);
}

static void value_of(const char *string, const char *key, char *out, size_t size)
{
    const char *at = strstr(string, key);

    if (at)
        snprintf(out, size, "%.*s", (int)strcspn(at + strlen(key), ";"), at + strlen(key));
}

static struct line *next_answer(struct session *session, const char *sql)
{
    for (int i = 0; i < session->n; i++) {
        struct line *line = &session->lines[i];
        size_t length = strcspn(line->text, "|");

        if (!line->used && strncmp(line->text, sql, length) == 0) {
            line->used = 1;
            return line;
        }
    }
    return NULL;
}

static SQLRETURN fail(struct handle *handle, const char *sqlstate, SQLINTEGER native,
                      const char *text)
{
    snprintf(handle->sqlstate, sizeof handle->sqlstate, "%s", sqlstate);
    snprintf(handle->text, sizeof handle->text, "[vendor][driver]%s", text);
    handle->native = native;
    return SQL_ERROR;
}

static SQLRETURN hang(struct handle *handle)
{
    struct timespec moment = {0, 1000000};

    while (!atomic_load(&handle->cancelled))
        nanosleep(&moment, NULL);
    return fail(handle, "HY008", 0, "Operation canceled");
}

static SQLRETURN answer(struct handle *handle, const char *sql)
{
    struct line *line;
    char *fields[COLUMNS + 2] = {NULL}, *rest;
    int n = 0;

    note(handle->session, "RUN", sql);
    handle->sqlstate[0] = '\0';
    handle->n_columns = handle->rows = 0;
    line = next_answer(handle->session, sql);
    if (!line)
        return SQL_SUCCESS;
    snprintf(handle->row, sizeof handle->row, "%s", line->text);
    rest = handle->row;
    while (n < COLUMNS + 2 && (fields[n] = strsep(&rest, "|")))
        n++;
    if (n == 2 && strcmp(fields[1], "HANG") == 0)
        return hang(handle);
    if (n > 2 && strcmp(fields[1], "ROW") == 0) {
        handle->rows = 1;
        for (int i = 2; i < n; i++)
            handle->columns[handle->n_columns++] = fields[i];
        return SQL_SUCCESS;
    }
    return n == 4 ? fail(handle, fields[1], atoi(fields[2]), fields[3]) : SQL_SUCCESS;
}

/* ---- handles ------------------------------------------------------------------------------- */

SQLRETURN SQL_API SQLAllocHandle(SQLSMALLINT kind, SQLHANDLE parent, SQLHANDLE *out)
{
    struct handle *handle = calloc(1, sizeof *handle);

    if (kind == SQL_HANDLE_DBC)
        handle->session = calloc(1, sizeof *handle->session);
    if (kind == SQL_HANDLE_STMT) {
        handle->session = ((struct handle *)parent)->session;
        handle->next = handle->session->statements;
        handle->session->statements = handle;
    }
    *out = handle;
    return SQL_SUCCESS;
}

static void leave_session(struct handle *statement)
{
    struct handle **at = &statement->session->statements;

    while (*at && *at != statement)
        at = &(*at)->next;
    if (*at)
        *at = statement->next;
}

SQLRETURN SQL_API SQLFreeHandle(SQLSMALLINT kind, SQLHANDLE handle)
{
    if (kind == SQL_HANDLE_STMT)
        leave_session(handle);
    if (kind == SQL_HANDLE_DBC)
        free(((struct handle *)handle)->session);
    free(handle);
    return SQL_SUCCESS;
}

SQLRETURN SQL_API SQLSetEnvAttr(SQLHENV env, SQLINTEGER attribute, SQLPOINTER value, SQLINTEGER n)
{
    (void)env, (void)attribute, (void)value, (void)n;
    return SQL_SUCCESS;
}

SQLRETURN SQL_API SQLSetConnectAttr(SQLHDBC dbc, SQLINTEGER attribute, SQLPOINTER value,
                                    SQLINTEGER n)
{
    struct handle *handle = dbc;
    char text[60];

    (void)n;
    snprintf(text, sizeof text, "%d=%ld", (int)attribute, (long)(intptr_t)value);
    note(handle->session, "SET", text);
    return SQL_SUCCESS;
}

SQLRETURN SQL_API SQLGetConnectAttr(SQLHDBC dbc, SQLINTEGER attribute, SQLPOINTER value,
                                    SQLINTEGER size, SQLINTEGER *length)
{
    struct handle *handle = dbc;

    (void)size, (void)length;
    if (attribute == SQL_ATTR_AUTOCOMMIT && strcmp(handle->session->mode, "unknown") == 0)
        return fail(handle, "HYC00", 0, "Optional feature not implemented");
    if (attribute == SQL_ATTR_AUTOCOMMIT)
        *(SQLUINTEGER *)value = SQL_AUTOCOMMIT_ON;
    if (attribute == SQL_ATTR_CONNECTION_DEAD)
        *(SQLUINTEGER *)value = SQL_CD_FALSE;
    return SQL_SUCCESS;
}

SQLRETURN SQL_API SQLDriverConnect(SQLHDBC dbc, SQLHWND window, SQLCHAR *in, SQLSMALLINT in_length,
                                   SQLCHAR *out, SQLSMALLINT size, SQLSMALLINT *length,
                                   SQLUSMALLINT completion)
{
    struct handle *handle = dbc;
    char script[300] = "";

    (void)window, (void)in_length, (void)out, (void)size, (void)length, (void)completion;
    value_of((char *)in, "Product=", handle->session->product, sizeof handle->session->product);
    value_of((char *)in, "Script=", script, sizeof script);
    value_of((char *)in, "Log=", handle->session->log, sizeof handle->session->log);
    snprintf(handle->session->ends, sizeof handle->session->ends, "%d", SQL_CB_CLOSE);
    value_of((char *)in, "Ends=", handle->session->ends, sizeof handle->session->ends);
    value_of((char *)in, "Mode=", handle->session->mode, sizeof handle->session->mode);
    read_script(handle->session, script);
    note(handle->session, "CONNECT", (char *)in);
    return answer(handle, "CONNECT");
}

/* Frees the session's statements. */
SQLRETURN SQL_API SQLDisconnect(SQLHDBC dbc)
{
    struct session *session = ((struct handle *)dbc)->session;

    while (session->statements)
        SQLFreeHandle(SQL_HANDLE_STMT, session->statements);
    return SQL_SUCCESS;
}

SQLRETURN SQL_API SQLGetInfo(SQLHDBC dbc, SQLUSMALLINT what, SQLPOINTER out, SQLSMALLINT size,
                             SQLSMALLINT *length)
{
    struct handle *handle = dbc;
    const char *text = what == SQL_DBMS_NAME         ? handle->session->product
                       : what == SQL_DRIVER_ODBC_VER ? "03.51"
                                                     : NULL;

    if (text) {
        snprintf(out, (size_t)size, "%s", text);
        if (length)
            *length = (SQLSMALLINT)strlen(text);
    } else if (what == SQL_CURSOR_COMMIT_BEHAVIOR || what == SQL_CURSOR_ROLLBACK_BEHAVIOR) {
        *(SQLUSMALLINT *)out = (SQLUSMALLINT)atoi(handle->session->ends);
    } else {
        memset(out, 0, 2); /* a number, or an empty text */
    }
    return SQL_SUCCESS;
}

SQLRETURN SQL_API SQLGetFunctions(SQLHDBC dbc, SQLUSMALLINT function, SQLUSMALLINT *out)
{
    (void)dbc;
    if (function == SQL_API_ODBC3_ALL_FUNCTIONS)
        memset(out, 0xff, SQL_API_ODBC3_ALL_FUNCTIONS_SIZE * sizeof *out);
    else
        *out = SQL_TRUE;
    return SQL_SUCCESS;
}

SQLRETURN SQL_API SQLGetDiagRec(SQLSMALLINT kind, SQLHANDLE of, SQLSMALLINT record,
                                SQLCHAR *sqlstate, SQLINTEGER *native, SQLCHAR *text,
                                SQLSMALLINT size, SQLSMALLINT *length)
{
    struct handle *handle = of;

    (void)kind;
    if (record > 1 || !handle->sqlstate[0])
        return SQL_NO_DATA;
    memcpy(sqlstate, handle->sqlstate, 6);
    *native = handle->native;
    snprintf((char *)text, (size_t)size, "%s", handle->text);
    if (length)
        *length = (SQLSMALLINT)strlen(handle->text);
    return SQL_SUCCESS;
}

SQLRETURN SQL_API SQLGetDiagField(SQLSMALLINT kind, SQLHANDLE handle, SQLSMALLINT record,
                                  SQLSMALLINT field, SQLPOINTER out, SQLSMALLINT size,
                                  SQLSMALLINT *length)
{
    (void)kind, (void)handle, (void)record, (void)field, (void)out, (void)size, (void)length;
    return SQL_NO_DATA;
}

SQLRETURN SQL_API SQLEndTran(SQLSMALLINT kind, SQLHANDLE handle, SQLSMALLINT how)
{
    (void)kind;
    return answer(handle, how == SQL_COMMIT ? "COMMIT" : "ROLLBACK");
}

/* ---- statements ---------------------------------------------------------------------------- */

SQLRETURN SQL_API SQLPrepare(SQLHSTMT stmt, SQLCHAR *sql, SQLINTEGER length)
{
    struct handle *handle = stmt;

    snprintf(handle->sql, sizeof handle->sql, "%.*s",
             length == SQL_NTS ? (int)strlen((char *)sql) : (int)length, (char *)sql);
    note(handle->session, "PREPARE", handle->sql);
    return SQL_SUCCESS;
}

static void note_parameter(struct handle *handle, int i)
{
    const struct parameter *one = &handle->parameters[i];
    char text[WIDTH];
    int length = one->indicator && *one->indicator > 0 ? (int)*one->indicator : 0;

    if (one->indicator && *one->indicator == SQL_NULL_DATA)
        snprintf(text, sizeof text, "%d %d NULL", one->c_type, one->sql_type);
    else if (one->c_type == SQL_C_SBIGINT)
        snprintf(text, sizeof text, "%d %d %lld", one->c_type, one->sql_type,
                 *(long long *)one->data);
    else if (one->c_type == SQL_C_WCHAR)
        snprintf(text, sizeof text, "%d %d %d units, the first %04x", one->c_type, one->sql_type,
                 length / 2, *(uint16_t *)one->data);
    else
        snprintf(text, sizeof text, "%d %d %.*s", one->c_type, one->sql_type, length,
                 (char *)one->data);
    note(handle->session, "PARAMETER", text);
}

SQLRETURN SQL_API SQLExecute(SQLHSTMT stmt)
{
    struct handle *handle = stmt;

    for (int i = 0; i < PARAMETERS && handle->parameters[i].c_type; i++)
        note_parameter(handle, i);
    return answer(handle, handle->sql);
}

SQLRETURN SQL_API SQLExecDirect(SQLHSTMT stmt, SQLCHAR *sql, SQLINTEGER length)
{
    SQLPrepare(stmt, sql, length);
    return SQLExecute(stmt);
}

SQLRETURN SQL_API SQLBindParameter(SQLHSTMT stmt, SQLUSMALLINT at, SQLSMALLINT direction,
                                   SQLSMALLINT c_type, SQLSMALLINT sql_type, SQLULEN size,
                                   SQLSMALLINT digits, SQLPOINTER data, SQLLEN length,
                                   SQLLEN *indicator)
{
    (void)direction, (void)size, (void)digits, (void)length;
    ((struct handle *)stmt)->parameters[at - 1] =
        (struct parameter){c_type, sql_type, data, indicator};
    return SQL_SUCCESS;
}

SQLRETURN SQL_API SQLNumResultCols(SQLHSTMT stmt, SQLSMALLINT *n)
{
    *n = (SQLSMALLINT)((struct handle *)stmt)->n_columns;
    return SQL_SUCCESS;
}

SQLRETURN SQL_API SQLDescribeCol(SQLHSTMT stmt, SQLUSMALLINT at, SQLCHAR *name, SQLSMALLINT size,
                                 SQLSMALLINT *length, SQLSMALLINT *type, SQLULEN *width,
                                 SQLSMALLINT *digits, SQLSMALLINT *nullable)
{
    switch (((struct handle *)stmt)->columns[at - 1][0]) {
    case 'i':
        *type = SQL_BIGINT;
        break;
    case 'n':
        *type = SQL_DECIMAL;
        break;
    case 'w':
        *type = SQL_WVARCHAR;
        break;
    default:
        *type = SQL_VARCHAR;
    }
    snprintf((char *)name, (size_t)size, "c");
    *length = 1;
    *width = WIDTH;
    *digits = 0;
    *nullable = SQL_NULLABLE;
    return SQL_SUCCESS;
}

SQLRETURN SQL_API SQLFetch(SQLHSTMT stmt)
{
    struct handle *handle = stmt;

    memset(handle->given, 0, sizeof handle->given);
    return handle->rows-- > 0 ? SQL_SUCCESS : SQL_NO_DATA;
}

/* Gives the column out in pieces of at most `size` bytes. Texts of a script are ASCII, but U+1F512
   stands for a * in a wide one. */
SQLRETURN SQL_API SQLGetData(SQLHSTMT stmt, SQLUSMALLINT at, SQLSMALLINT type, SQLPOINTER out,
                             SQLLEN size, SQLLEN *indicator)
{
    struct handle *handle = stmt;
    const char *text = handle->columns[at - 1] + 1;
    size_t unit = type == SQL_C_WCHAR ? 2 : 1, length = 0, *given = &handle->given[at - 1], n;
    uint16_t wide[WIDTH * 2];
    const char *data = text;

    if (handle->columns[at - 1][0] == '-') {
        *indicator = SQL_NULL_DATA;
        return SQL_SUCCESS;
    }
    for (const char *c = text; *c; c++) {
        if (*c == '*')
            wide[length++] = 0xd83d;
        wide[length++] = *c == '*' ? 0xdd12 : (uint16_t)(unsigned char)*c;
    }
    if (unit == 2)
        data = (const char *)wide;
    else
        length = strlen(text);
    length = length * unit - *given;
    if (length == 0 && *given > 0)
        return SQL_NO_DATA;
    *indicator = (SQLLEN)length;
    n = length < (size_t)size - unit ? length : ((size_t)size - unit) / unit * unit;
    memcpy(out, data + *given, n);
    memset((char *)out + n, 0, unit);
    *given += n;
    if (n == length)
        return SQL_SUCCESS;
    fail(handle, "01004", 0, "String data, right truncated");
    return SQL_SUCCESS_WITH_INFO;
}

SQLRETURN SQL_API SQLRowCount(SQLHSTMT stmt, SQLLEN *n)
{
    (void)stmt;
    *n = 1;
    return SQL_SUCCESS;
}

SQLRETURN SQL_API SQLFreeStmt(SQLHSTMT stmt, SQLUSMALLINT option)
{
    (void)stmt, (void)option;
    return SQL_SUCCESS;
}

SQLRETURN SQL_API SQLCloseCursor(SQLHSTMT stmt)
{
    (void)stmt;
    return SQL_SUCCESS;
}

SQLRETURN SQL_API SQLCancel(SQLHSTMT stmt)
{
    atomic_store(&((struct handle *)stmt)->cancelled, 1);
    return SQL_SUCCESS;
}

SQLRETURN SQL_API SQLSetStmtAttr(SQLHSTMT stmt, SQLINTEGER attribute, SQLPOINTER value,
                                 SQLINTEGER n)
{
    (void)stmt, (void)attribute, (void)value, (void)n;
    return SQL_SUCCESS;
}

/* The driver manager asks each statement for its four descriptors. */
SQLRETURN SQL_API SQLGetStmtAttr(SQLHSTMT stmt, SQLINTEGER attribute, SQLPOINTER value,
                                 SQLINTEGER size, SQLINTEGER *length)
{
    static struct handle descriptors[4];

    (void)stmt, (void)size, (void)length;
    if (attribute >= SQL_ATTR_APP_ROW_DESC && attribute <= SQL_ATTR_IMP_PARAM_DESC)
        *(void **)value = &descriptors[attribute - SQL_ATTR_APP_ROW_DESC];
    return SQL_SUCCESS;
}

SQLRETURN SQL_API SQLMoreResults(SQLHSTMT stmt)
{
    (void)stmt;
    return SQL_NO_DATA;
}
