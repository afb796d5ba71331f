/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps the caller's own PGconn, MYSQL, sqlite3 or HDBC as a connection, and returns the native
   handle. */
#include <string.h>

#include "session/connection.h"
#include "rowlock/mariadb.h"
#include "rowlock/odbc.h"
#include "rowlock/postgresql.h"
#include "rowlock/sqlite.h"
#include "util/error.h"

static int wrap(const char *driver, void *handle, const struct rowlock_options *options,
                struct rowlock_connection **out, struct rowlock_error *error)
{
    if (!handle)
        return rowlock__fail(error, ROWLOCK_EINVAL, "the handle is NULL");
    return rowlock__connect(driver, handle, NULL, options, out, error);
}

static void *handle_of(struct rowlock_connection *connection, const char *driver)
{
    if (!connection || !connection->link || strcmp(connection->transport->name, driver) != 0)
        return NULL;
    return connection->driver->handle(connection->link);
}

int rowlock_postgresql_wrap(struct pg_conn *handle, const struct rowlock_options *options,
                            struct rowlock_connection **out, struct rowlock_error *error)
{
    return wrap("postgresql", handle, options, out, error);
}

struct pg_conn *rowlock_postgresql_handle(struct rowlock_connection *connection)
{
    return handle_of(connection, "postgresql");
}

int rowlock_mariadb_wrap(struct st_mysql *handle, const struct rowlock_options *options,
                         struct rowlock_connection **out, struct rowlock_error *error)
{
    return wrap("mariadb", handle, options, out, error);
}

struct st_mysql *rowlock_mariadb_handle(struct rowlock_connection *connection)
{
    return handle_of(connection, "mariadb");
}

int rowlock_sqlite_wrap(struct sqlite3 *handle, const struct rowlock_options *options,
                        struct rowlock_connection **out, struct rowlock_error *error)
{
    return wrap("sqlite", handle, options, out, error);
}

struct sqlite3 *rowlock_sqlite_handle(struct rowlock_connection *connection)
{
    return handle_of(connection, "sqlite");
}

int rowlock_odbc_wrap(void *hdbc, const struct rowlock_options *options,
                      struct rowlock_connection **out, struct rowlock_error *error)
{
    return wrap("odbc", hdbc, options, out, error);
}

void *rowlock_odbc_handle(struct rowlock_connection *connection)
{
    return handle_of(connection, "odbc");
}
