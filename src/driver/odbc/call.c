/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that may block: their time limit, their diagnosis, and the error that follows from both. */
#include <stdio.h>
#include <string.h>

#include "driver/failure.h"
#include "driver/odbc/link.h"

#define O rowlock__odbc

static void cancel(void *stmt)
{
    O.SQLCancel(stmt);
}

/* The cancel of a COMMIT, which does nothing: a COMMIT cannot be cancelled, but without a cancel
   the watch would shut the session down at once, and the outcome would be unknown. */
static void only_wait(void *none)
{
    (void)none;
}

void rowlock__odbc_arm(struct rowlock_link *link, const struct rowlock_budget *budget)
{
    link->budget = *budget;
    link->spent = (struct rowlock_watched){ROWLOCK_WATCH_CALM, ROWLOCK_WAKE_READY};
}

void rowlock__odbc_begins(struct rowlock_link *link, SQLHSTMT stmt)
{
    if (!stmt)
        rowlock__watch_begin(link->watch, &link->budget, only_wait, NULL);
    else
        rowlock__watch_begin(link->watch, &link->budget, link->product->cancels ? cancel : NULL,
                             stmt);
}

/* "[unixODBC][Driver]ERROR: text;\nError while executing the query" -> "ERROR: text" */
void rowlock__odbc_diagnose(const struct rowlock_link *link, SQLSMALLINT kind, SQLHANDLE handle,
                            struct rowlock__odbc_diagnosis *out)
{
    char *start = out->text, *end;
    SQLSMALLINT length = 0;

    *out = (struct rowlock__odbc_diagnosis){.native = 0};
    if (O.SQLGetDiagRec(kind, handle, 1, (SQLCHAR *)out->sqlstate, &out->native,
                        (SQLCHAR *)out->text, sizeof out->text, &length) == SQL_NO_DATA) {
        *out->sqlstate = '\0'; /* unixODBC writes 00000 */
        snprintf(out->text, sizeof out->text, "the ODBC driver reports an error without a text");
    }
    while (*start == '[' && (end = strchr(start, ']')))
        start = end + 1 + strspn(end + 1, " ");
    memmove(out->text, start, strlen(start) + 1);
    end = strstr(out->text, "\nError while ");
    if (end)
        *end = '\0';
    for (end = out->text + strlen(out->text); end > out->text && strchr("; \r\n", end[-1]); end--)
        end[-1] = '\0';
    for (size_t i = 0; i < sizeof link->passwords / sizeof *link->passwords; i++)
        if (link->passwords[i])
            rowlock__hide_password(out->text, link->passwords[i], strlen(link->passwords[i]));
}

/* Drivers report a lost session in class 08. Some report an error of their own instead, and show
   the loss only in SQL_ATTR_CONNECTION_DEAD. A server that is full keeps the session. */
static bool is_lost(struct rowlock_link *link, const struct rowlock_error *error)
{
    const char *sqlstate = error->sqlstate;
    bool full = error->code == ROWLOCK_ECONN && rowlock_is_full(error);
    SQLUINTEGER dead = SQL_CD_FALSE;

    if ((error->code == ROWLOCK_ECONN && !full) || strncmp(sqlstate, "08", 2) == 0)
        return true;
    if ((error->code != ROWLOCK_EDB && error->code != ROWLOCK_EABORTED && !full) ||
        link->connecting ||
        (*sqlstate && strncmp(sqlstate, "HY", 2) != 0 && strncmp(sqlstate, "S1", 2) != 0))
        return false;
    rowlock__odbc_begins(link, SQL_NULL_HSTMT); /* MariaDB's driver asks the server */
    O.SQLGetConnectAttr(link->dbc, SQL_ATTR_CONNECTION_DEAD, &dead, sizeof dead, NULL);
    return rowlock__watch_end(link->watch).result == ROWLOCK_WATCH_GIVEN_UP || dead == SQL_CD_TRUE;
}

static int judge(struct rowlock_link *link, const struct rowlock__odbc_diagnosis *diagnosis,
                 struct rowlock_watched end, struct rowlock_error *error)
{
    /* of a statement that a cancel ended; the last ones if it came before SQLExecute */
    static const char *const states[] = {"", "HY008", "HY018", "57014", "70100", "24000", "HY010"};
    struct rowlock_error unseen;
    bool cancelled = diagnosis->native == 1013 || diagnosis->native == 1317 ||
                     (diagnosis->native == 8 && /* psqlODBC */
                      strcmp(diagnosis->sqlstate, "HY000") == 0);
    int code;

    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        cancelled = cancelled || strcmp(diagnosis->sqlstate, states[i]) == 0;
    if (!error)
        error = &unseen;
    code = rowlock__failure(error, link->product->engine, diagnosis->sqlstate,
                            (int)diagnosis->native, diagnosis->text);
    if (end.result == ROWLOCK_WATCH_GIVEN_UP || is_lost(link, error))
        link->dead = true;
    if (end.result == ROWLOCK_WATCH_CALM || (!link->dead && !cancelled)) {
        if (link->dead)
            error->code = ROWLOCK_ECONN;
        if (link->dead && code == ROWLOCK_EABORTED)
            rowlock__advise(error, "the connection is lost");
        return link->dead ? ROWLOCK_ECONN : code;
    }
    return rowlock__cut_off(error, end.why, link->connecting, end.result == ROWLOCK_WATCH_GIVEN_UP);
}

static bool succeeded(SQLRETURN result)
{
    return SQL_SUCCEEDED(result) || result == SQL_NO_DATA;
}

int rowlock__odbc_ended(struct rowlock_link *link, SQLRETURN result, SQLSMALLINT kind,
                        SQLHANDLE handle, struct rowlock_error *error)
{
    struct rowlock__odbc_diagnosis diagnosis;
    struct rowlock_watched end;

    if (!succeeded(result))
        rowlock__odbc_diagnose(link, kind, handle, &diagnosis);
    end = rowlock__watch_end(link->watch);
    if (end.result != ROWLOCK_WATCH_CALM)
        link->spent = end;
    if (!succeeded(result)) /* a late cancel may have closed the cursor */
        return judge(link, &diagnosis, link->spent, error);
    link->dead = link->dead || end.result == ROWLOCK_WATCH_GIVEN_UP;
    return ROWLOCK_OK;
}

int rowlock__odbc_set(struct rowlock_link *link, SQLINTEGER attribute, SQLULEN value,
                      struct rowlock_error *error)
{
    rowlock__odbc_begins(link, SQL_NULL_HSTMT);
    return rowlock__odbc_ended(link,
                               O.SQLSetConnectAttr(link->dbc, attribute, (SQLPOINTER)value, 0),
                               SQL_HANDLE_DBC, link->dbc, error);
}

int rowlock__odbc_check(struct rowlock_link *link, SQLRETURN result, SQLSMALLINT kind,
                        SQLHANDLE handle, struct rowlock_error *error)
{
    struct rowlock__odbc_diagnosis diagnosis;

    if (succeeded(result))
        return ROWLOCK_OK;
    rowlock__odbc_diagnose(link, kind, handle, &diagnosis);
    return judge(link, &diagnosis, link->spent, error);
}
