/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects by a connection string, to which it adds the options that the driver needs. A data
 * source (DSN=) does not show its driver. So if the product needs an option that the string lacks,
 * the session is opened a second time, with that option.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/failure.h"
#include "driver/odbc/link.h"
#include "driver/odbc/text.h"
#include "util/bytes.h"
#include "util/error.h"

#define O rowlock__odbc

#define USER_KEYS "UID,User,Username,User ID"
#define PASSWORD_KEYS "PWD,Password"
#define PORT_KEYS "Port"
#define SERVER_KEYS "Server,Servername,Hostname,Host"

/* ---- the string ---------------------------------------------------------------------------- */

static int append_missing(char **string, const char *keys, const char *key, const char *value)
{
    char *given = rowlock__odbc_value(*string, keys);
    bool missing = given == NULL;

    free(given);
    return missing && value ? rowlock__odbc_append(string, key, value) : 0;
}

/* User and password from the environment. The link remembers the passwords, to hide them. */
static int add_credentials(struct rowlock_link *link, char **string, struct rowlock_error *error)
{
    struct rowlock_credentials from = {NULL, NULL};
    int code = rowlock__credentials(&from, error);

    if (code)
        return code;
    link->passwords[0] = rowlock__odbc_value(*string, PASSWORD_KEYS);
    if (append_missing(string, USER_KEYS, "UID", from.user) != 0 ||
        append_missing(string, PASSWORD_KEYS, "PWD", from.password) != 0)
        code = rowlock__no_memory(error);
    link->passwords[1] = from.password;
    from.password = NULL;
    rowlock__credentials_free(&from);
    return code;
}

/* Adds the options that the product's driver needs and the caller's string lacks, and checks the
   values of the others. */
static int add_options(const struct rowlock__odbc_product *product, char **string, bool *added,
                       struct rowlock_error *error)
{
    *added = false;
    for (const struct rowlock__odbc_option *option = product->options; option && option->key;
         option++) {
        char *given = rowlock__odbc_value(*string, option->keys);
        bool good = !given || option->accepts(given);

        if (!given && rowlock__odbc_append(string, option->key, option->value) != 0)
            return rowlock__no_memory(error);
        *added = *added || !given;
        free(given);
        if (!good)
            return rowlock__fail(error, ROWLOCK_EINVAL,
                                 "rowlock needs %s=%s in the connection string of %s: remove %s "
                                 "from it, and rowlock adds the right one",
                                 option->key, option->value, product->name, option->key);
    }
    return ROWLOCK_OK;
}

/* The port, if the string names one: "Port=5432", "Server=host,1433". */
static int port_of(const char *string)
{
    char *port = rowlock__odbc_value(string, PORT_KEYS);
    char *server = port ? NULL : rowlock__odbc_value(string, SERVER_KEYS);
    const char *comma = server ? strrchr(server, ',') : NULL;
    int number = port ? atoi(port) : comma ? atoi(comma + 1) : 0;

    free(port);
    free(server);
    return number > 0 && number < 65536 ? number : 0;
}

/* ---- the session --------------------------------------------------------------------------- */

static bool cannot_load(const struct rowlock__odbc_diagnosis *diagnosis)
{
    return strcmp(diagnosis->sqlstate, "01000") == 0 && strstr(diagnosis->text, "Can't open lib");
}

/* The driver manager's errors: no such data source, or a driver that cannot be loaded. */
static int no_driver(const char *string, const struct rowlock__odbc_diagnosis *diagnosis,
                     struct rowlock_error *error)
{
    char *driver = rowlock__odbc_value(string, "Driver"), *dsn = NULL;
    const char *package =
        rowlock__odbc_product_of_driver(driver ? driver : diagnosis->text)->package;

    if (driver && package)
        rowlock__fail(error, ROWLOCK_EDRIVER,
                      "cannot load the ODBC driver '%s': install the package %s; odbcinst -q -d "
                      "lists the installed drivers",
                      driver, package);
    else if (driver)
        rowlock__fail(error, ROWLOCK_EDRIVER,
                      "cannot load the ODBC driver '%s': %s; install the database vendor's ODBC "
                      "driver; odbcinst -q -d lists the installed drivers",
                      driver, diagnosis->text);
    else if ((dsn = rowlock__odbc_value(string, "DSN")) && cannot_load(diagnosis))
        rowlock__fail(error, ROWLOCK_EDRIVER,
                      "the ODBC data source '%s' has a driver that cannot be loaded: %s; install "
                      "%s%s; odbcinst -q -d lists the installed drivers",
                      dsn, diagnosis->text, package ? "the package " : "its driver",
                      package ? package : "");
    else if (dsn)
        rowlock__fail(error, ROWLOCK_EDRIVER,
                      "no usable ODBC data source '%s': define it in ~/.odbc.ini or /etc/odbc.ini, "
                      "and install its driver; odbcinst -q -s lists the data sources",
                      dsn);
    else
        rowlock__fail(error, ROWLOCK_EINVAL,
                      "the URL names no ODBC driver: write odbc:DSN=... or odbc:Driver={...};...");
    free(driver);
    free(dsn);
    return error ? error->code : ROWLOCK_EDRIVER;
}

static int refused(struct rowlock_link *link, const char *string,
                   const struct rowlock__odbc_diagnosis *diagnosis, struct rowlock_watched end,
                   struct rowlock_error *error)
{
    int code;

    if (end.result != ROWLOCK_WATCH_CALM && end.why == ROWLOCK_WAKE_INTERRUPT)
        return rowlock__fail(error, ROWLOCK_ECANCELED, "interrupted while connecting");
    if (end.result != ROWLOCK_WATCH_CALM)
        return rowlock__fail(error, ROWLOCK_ECONN, "the server did not answer in time");
    if (strncmp(diagnosis->sqlstate, "IM", 2) == 0 || cannot_load(diagnosis))
        return no_driver(string, diagnosis, error);
    code = rowlock__failure(error, link->product->engine, diagnosis->sqlstate,
                            (int)diagnosis->native, diagnosis->text);
    if (code == ROWLOCK_EDB) { /* a retry may help, unless the login was refused */
        code = strncmp(diagnosis->sqlstate, "28", 2) == 0 ? ROWLOCK_EDENIED : ROWLOCK_ECONN;
        if (error)
            error->code = code;
    }
    return code;
}

static int open_session(struct rowlock_link *link, char *string, struct rowlock_error *error)
{
    struct rowlock__odbc_diagnosis diagnosis;
    struct rowlock_watched end;
    SQLCHAR completed[1024];
    SQLSMALLINT length;
    SQLRETURN result;
    SQLULEN seconds;
    int64_t left_ms;
    int code;

    if (!link->env &&
        (!SQL_SUCCEEDED(O.SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &link->env)) ||
         !SQL_SUCCEEDED(
             O.SQLSetEnvAttr(link->env, SQL_ATTR_ODBC_VERSION, (SQLPOINTER)SQL_OV_ODBC3, 0))))
        return rowlock__no_memory(error);
    if (!SQL_SUCCEEDED(O.SQLAllocHandle(SQL_HANDLE_DBC, link->env, &link->dbc)))
        return rowlock__no_memory(error);
    code = rowlock__watch_opening(link->watch, &link->budget, port_of(string), error);
    if (code == ROWLOCK_ETIMEDOUT)
        return rowlock__fail(error, ROWLOCK_ECONN, "timed out while another thread connected");
    if (code)
        return code;
    /* the driver's own limit, in whole seconds, helps where the session's socket is not found */
    left_ms = link->budget.deadline_ms - rowlock__now_ms();
    seconds = left_ms < 1000 ? 2 : (SQLULEN)(left_ms / 1000 + 2);
    if (link->budget.deadline_ms != ROWLOCK_NEVER)
        O.SQLSetConnectAttr(link->dbc, SQL_ATTR_LOGIN_TIMEOUT, (SQLPOINTER)seconds, 0);
    result = O.SQLDriverConnect(link->dbc, NULL, (SQLCHAR *)string, SQL_NTS, completed,
                                sizeof completed, &length, SQL_DRIVER_NOPROMPT);
    rowlock__wipe(completed, sizeof completed); /* it has the password */
    link->connected = SQL_SUCCEEDED(result);
    if (!link->connected)
        rowlock__odbc_diagnose(link, SQL_HANDLE_DBC, link->dbc, &diagnosis);
    end = rowlock__watch_opened(link->watch, link->connected);
    if (!link->connected)
        return refused(link, string, &diagnosis, end, error);
    if (end.result != ROWLOCK_WATCH_CALM) {
        link->dead = end.result == ROWLOCK_WATCH_GIVEN_UP;
        return refused(link, string, NULL, end, error);
    }
    return ROWLOCK_OK;
}

int rowlock__odbc_product_name(struct rowlock_link *link, char *product, size_t size,
                               struct rowlock_error *error)
{
    SQLSMALLINT length = 0;

    product[0] = '\0';
    if (!SQL_SUCCEEDED(O.SQLGetInfo(link->dbc, SQL_DBMS_NAME, product, (SQLSMALLINT)size, &length)))
        return rowlock__fail(error, ROWLOCK_EINVAL, "the HDBC is not connected");
    link->product = rowlock__odbc_product(product);
    return ROWLOCK_OK;
}

/* Sets READ COMMITTED explicitly. Manual commit comes last, so that the set-up opens no
   transaction. */
static int set_session_up(struct rowlock_link *link, struct rowlock_error *error)
{
    static const SQLUSMALLINT ends[] = {SQL_CURSOR_COMMIT_BEHAVIOR, SQL_CURSOR_ROLLBACK_BEHAVIOR};
    int code = ROWLOCK_OK;

    /* some drivers forget prepared statements at the end of a transaction */
    link->keeps_prepared = true;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        SQLUSMALLINT behavior = SQL_CB_DELETE;
        SQLSMALLINT length;

        if (!SQL_SUCCEEDED(O.SQLGetInfo(link->dbc, ends[i], &behavior, sizeof behavior, &length)) ||
            behavior == SQL_CB_DELETE)
            link->keeps_prepared = false;
    }
    for (const char *const *text = link->product->set_up; text && *text && !code; text++)
        code = rowlock__odbc_text(link, *text, strlen(*text), error);
    if (!code)
        code = rowlock__odbc_set(link, SQL_ATTR_TXN_ISOLATION, SQL_TXN_READ_COMMITTED, error);
    return code ? code : rowlock__odbc_set(link, SQL_ATTR_AUTOCOMMIT, SQL_AUTOCOMMIT_OFF, error);
}

/* Opens the session, and opens it again if its product needs an option that the string lacked. */
static int connect_by(struct rowlock_link *link, char **string, char *product, size_t size,
                      struct rowlock_error *error)
{
    char *driver = rowlock__odbc_value(*string, "Driver");
    bool added;
    int code;

    link->product = rowlock__odbc_product_of_driver(driver);
    free(driver);
    code = add_options(link->product, string, &added, error);
    if (!code)
        code = open_session(link, *string, error);
    if (!code)
        code = rowlock__odbc_product_name(link, product, size, error);
    if (!code)
        code = add_options(link->product, string, &added, error);
    if (code || !added)
        return code;
    rowlock__odbc_begins(link, SQL_NULL_HSTMT);
    O.SQLDisconnect(link->dbc);
    rowlock__watch_end(link->watch);
    O.SQLFreeHandle(SQL_HANDLE_DBC, link->dbc);
    link->dbc = SQL_NULL_HDBC;
    link->connected = false;
    return open_session(link, *string, error);
}

int rowlock__odbc_connect(struct rowlock_link *link, const char *url,
                          const struct rowlock_budget *budget, char *product, size_t size,
                          struct rowlock_error *error)
{
    char *string = strdup(url + strlen("odbc:"));
    int code = string ? add_credentials(link, &string, error) : rowlock__no_memory(error);

    rowlock__odbc_arm(link, budget);
    link->connecting = true;
    if (!code)
        code = connect_by(link, &string, product, size, error);
    if (!code)
        code = set_session_up(link, error);
    link->connecting = false;
    if (string) {
        rowlock__wipe(string, strlen(string));
        free(string);
    }
    return code;
}
