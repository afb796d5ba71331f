/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reaches PostgreSQL and MariaDB through ODBC, without the library's locks (struct engine in
 * engine.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/odbc/library.h"
#include "lib/test.h"
#include "lib/transport.h"
#include "rowlock/odbc.h"

#define O rowlock__odbc

/* ---- handles that the application opened --------------------------------------------------- */

static void disconnect(SQLHENV env, SQLHDBC dbc)
{
    O.SQLDisconnect(dbc);
    O.SQLFreeHandle(SQL_HANDLE_DBC, dbc);
    O.SQLFreeHandle(SQL_HANDLE_ENV, env);
}

/* The option that the header requires; others have none. */
static const char *option(const char *url)
{
    if (strcasestr(url, "psqlodbc") || strcasestr(url, "postgresql"))
        return "Protocol=7.4-2";
    return strcasestr(url, "maodbc") || strcasestr(url, "mariadb") ? "Option=2" : "";
}

static int connect_to(const char *url, SQLHENV *env, SQLHDBC *dbc)
{
    char text[600];

    if (rowlock__load(&rowlock__odbc_client, NULL))
        return 1;
    snprintf(text, sizeof text, "%s;%s", url + sizeof "odbc:" - 1, option(url));
    O.SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, env);
    O.SQLSetEnvAttr(*env, SQL_ATTR_ODBC_VERSION, (SQLPOINTER)SQL_OV_ODBC3, 0);
    O.SQLAllocHandle(SQL_HANDLE_DBC, *env, dbc);
    if (SQL_SUCCEEDED(O.SQLDriverConnect(*dbc, NULL, (SQLCHAR *)text, SQL_NTS, NULL, 0, NULL,
                                         SQL_DRIVER_NOPROMPT)))
        return 0;
    disconnect(*env, *dbc);
    return 1;
}

static void *open_session(const char *url)
{
    struct rowlock_source source = {.interrupt_fd = -1};
    struct transport *transport;
    SQLHENV env = NULL;
    SQLHDBC dbc = NULL;

    if (connect_to(url, &env, &dbc))
        return NULL;
    source.handle = dbc;
    transport = transport_open("odbc", &source);
    if (!transport)
        disconnect(env, dbc);
    else {
        transport->env = env;
        transport->dbc = dbc;
    }
    return transport;
}

static void close_session(void *handle)
{
    struct transport *transport = handle;
    SQLHENV env = transport->env;
    SQLHDBC dbc = transport->dbc;

    O.SQLEndTran(SQL_HANDLE_DBC, dbc, SQL_ROLLBACK);
    transport_close(transport);
    disconnect(env, dbc);
}

static int wrap(void *handle, const struct rowlock_options *options,
                struct rowlock_connection **out, struct rowlock_error *error)
{
    struct transport *transport = handle;
    int code = rowlock_odbc_wrap(transport ? transport->dbc : NULL, options, out, error);

    if (!code)
        transport_is_of(transport, *out);
    return code;
}

static void *native(void *handle)
{
    return ((struct transport *)handle)->dbc;
}

/* An application that ends a transaction which rowlock_begin began returns to autocommit. */
static int sql(void *handle, const char *text, char *out, size_t size)
{
    struct transport *transport = handle;
    int failed = transport_sql(handle, text, out, size);

    if (transport->dbc && (strcmp(text, "COMMIT") == 0 || strcmp(text, "ROLLBACK") == 0))
        O.SQLSetConnectAttr(transport->dbc, SQL_ATTR_AUTOCOMMIT, (SQLPOINTER)SQL_AUTOCOMMIT_ON, 0);
    return failed;
}

#define COMMON                                                                              \
    .open = open_session, .close = close_session, .wrap = wrap, .handle = transport_handle, \
    .native = native, .sql = sql, .in_transaction = transport_in_transaction,               \
    .session = transport_session, .meta = "rowlock_meta"

/* %s: the driver, by with_driver */
#define URL(port, user) \
    "odbc:%s;Server=127.0.0.1;Port=" port ";Database=test;UID=" user ";PWD=hunter2"
#define URLS                                                                   \
    .unreachable = URL("1", "rowlock"), .stranger = URL("%%d", "nobody_here"), \
    .silent = URL("%%d", "rowlock")

static const struct engine postgresql = {
    COMMON,
    URLS,
    T_POSTGRESQL_SESSIONS,
    .name = "postgresql",
    .begin = {"BEGIN"},
    .now_ms = "CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint)",
    .settings = "SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings "
                "WHERE name NOT LIKE 'transaction\\_%' AND name NOT IN ('application_name')",
};

/* ---- MariaDB --------------------------------------------------------------------------------- */

struct look {
    long session;
    int waiting;
};

/* The status is in the third column. */
static void look_at(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct look *look = data;
    char *text = n > 2 ? strndup(columns[2].bytes, columns[2].length) : NULL;

    look->waiting = text && t_innodb_waits(text, look->session);
    free(text);
}

static int mariadb_is_waiting(void *admin, long session)
{
    struct look look = {.session = session};
    char ignored[300];

    transport_rows(admin, "SHOW ENGINE INNODB STATUS", look_at, &look, ignored, sizeof ignored);
    return look.waiting;
}

static const struct engine mariadb = {
    COMMON,
    URLS,
    T_MARIADB_KILLING,
    .name = "mariadb",
    .begin = {"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN"},
    .now_ms = "CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED)",
    .settings = "SELECT concat_ws(' ', @@max_statement_time, "
                "@@sql_mode, @@time_zone, @@character_set_client, "
                "@@character_set_results, @@collation_connection, @@lock_wait_timeout, "
                "@@sql_safe_updates, @@wait_timeout, @@tx_read_only, "
                "@@idle_transaction_timeout, @@idle_write_transaction_timeout)",
    .own_id = "SELECT connection_id()",
    .is_waiting = mariadb_is_waiting,
    .kill = t_query_kill,
};

/* ---- the one under test ---------------------------------------------------------------------- */

/* A URL with the driver of the URL under test in place of %s. */
static const char *with_driver(const char *format)
{
    const char *driver = strstr(t_url(), "Driver=");

    if (!format)
        return NULL;
    if (!driver) {
        fputs("write Driver= in the URL, not DSN=: the tests use the driver for further URLs\n",
              stderr);
        exit(2);
    }
    return t_say(format, t_say("%.*s", (int)strcspn(driver, ";"), driver));
}

const struct engine *t_odbc_engine(const char *name)
{
    static struct engine found; /* its texts are for the program's life */

    if (!found.name) {
        found = strcmp(name, "postgresql") == 0 ? postgresql : mariadb;
        t_vendor_engine(name, 0, &found);
        found.unreachable = with_driver(found.unreachable);
        found.stranger = with_driver(found.stranger);
        found.silent = with_driver(found.silent);
    }
    return &found;
}
