/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes connections, by URL or around a native handle. */
#include "session/connection.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulate/emulate.h"
#include "rowlock/mariadb.h"
#include "rowlock/odbc.h"
#include "rowlock/postgresql.h"
#include "rowlock/sqlite.h"
#include "util/error.h"
#include "util/utf8.h"

#define DEFAULT_CONNECT_MS 10000
#define DEFAULT_STATEMENT_MS 10000

static char version[80];

static void make_version(void)
{
    snprintf(version, sizeof version, "%s %s", ROWLOCK_VERSION, rowlock__driver_list());
}

const char *rowlock_version(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_version);
    return version;
}

char *rowlock_drivers(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    rowlock__describe_drivers(out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static int set_options(struct rowlock_connection *connection, const char *url,
                       const struct rowlock_options *options, struct rowlock_error *error)
{
    static const struct rowlock_options defaults;

    if (!options)
        options = &defaults;
    connection->connect_ms = options->connect_ms ? options->connect_ms : DEFAULT_CONNECT_MS;
    connection->statement_ms = options->statement_ms ? options->statement_ms : DEFAULT_STATEMENT_MS;
    connection->interrupt_fd = options->interrupt_fd > 0 ? options->interrupt_fd : -1;
    connection->reread_url = options->reread_url;
    connection->reread_data = options->reread_data;
    rowlock__utf8_copy(connection->user, sizeof connection->user,
                       options->user ? options->user : "");
    if (!url)
        url = options->url;
    if (url && !(connection->url = strdup(url)))
        return rowlock__no_memory(error);
    if (options->database && !(connection->database = strdup(options->database)))
        return rowlock__no_memory(error);
    return ROWLOCK_OK;
}

int rowlock__connect(const char *driver, void *handle, const char *url,
                     const struct rowlock_options *options, struct rowlock_connection **out,
                     struct rowlock_error *error)
{
    struct rowlock_connection *connection = calloc(1, sizeof *connection);
    struct rowlock_budget budget;
    struct rowlock_error unseen;
    int64_t deadline_ms;
    int code;

    if (!error)
        error = &unseen;
    rowlock__clear_error(error);
    if (!connection)
        return rowlock__no_memory(error);
    connection->wrapped = handle != NULL;
    connection->pid = getpid();
    connection->driver = connection->transport =
        driver ? rowlock__driver_named(driver, error) : rowlock__driver_for_url(url, error);
    code = connection->driver ? set_options(connection, url, options, error) : error->code;
    if (!code && connection->url) {
        const struct rowlock_driver *of_url = rowlock__driver_for_url(connection->url, error);

        if (!of_url)
            code = error->code;
        else if (of_url != connection->driver)
            code = rowlock__fail(error, ROWLOCK_EINVAL,
                                 "the url for a second connection is of another database engine");
    }
    if (!code) {
        deadline_ms = rowlock__after(rowlock__now_ms(), connection->connect_ms);
        budget = (struct rowlock_budget){deadline_ms, connection->interrupt_fd, deadline_ms};
        code = rowlock__open_session(connection, handle, &budget, &connection->link,
                                     &connection->dialect, error);
    }
    if (!code && connection->dialect->plain && connection->driver != &rowlock__emulate_driver) {
        code = rowlock__emulate_over(connection->driver, connection->link, connection->dialect,
                                     connection->url, &connection->link, error);
        if (code)
            connection->link = NULL;
        connection->driver = &rowlock__emulate_driver;
    }
    if (code)
        rowlock_close(connection);
    else
        *out = connection;
    return code;
}

struct rowlock_options rowlock__options_of(const struct rowlock_connection *connection)
{
    return (struct rowlock_options){.connect_ms = connection->connect_ms,
                                    .statement_ms = connection->statement_ms,
                                    .interrupt_fd = connection->interrupt_fd,
                                    .database = connection->database,
                                    .reread_url = connection->reread_url,
                                    .reread_data = connection->reread_data,
                                    .user = connection->user};
}

int rowlock_open(const char *url, const struct rowlock_options *options,
                 struct rowlock_connection **out, struct rowlock_error *error)
{
    struct rowlock_connection *connection = NULL;
    int64_t began_ms = rowlock__now_ms();
    int code = rowlock__connect(NULL, NULL, url, options, &connection, error);

    if (!code) {
        rowlock__wait_begins(connection, rowlock__after(began_ms, connection->connect_ms));
        code = rowlock__check_server(connection, error);
        code = rowlock__given_up(connection, code, error);
        rowlock__wait_ends(connection);
    }
    if (code)
        rowlock_close(connection);
    else
        *out = connection;
    return code;
}

void rowlock_close(struct rowlock_connection *connection)
{
    if (!connection)
        return;
    rowlock_close(connection->second);
    /* a child process must not close it: that would end the parent's session */
    if (connection->link && connection->pid == getpid())
        connection->driver->close(connection->link);
    for (size_t i = 0; i < ROWLOCK_SQL_COUNT; i++)
        free((char *)connection->renamed[i].text);
    free(connection->url);
    free(connection->database);
    free(connection);
}

int rowlock__second(struct rowlock_connection *connection, struct rowlock_connection **out,
                    struct rowlock_error *error)
{
    struct rowlock_options options = rowlock__options_of(connection);
    struct rowlock_error why;
    int code = connection->second ? rowlock_ping(connection->second, &why) : ROWLOCK_OK;

    /* the server may have closed it while it was idle */
    if (code == ROWLOCK_ECONN && !rowlock__had_no_room(connection->second, code, &why)) {
        rowlock_close(connection->second);
        connection->second = NULL;
    }
    code = ROWLOCK_OK;
    if (!connection->second && connection->url)
        code = rowlock_open(connection->url, &options, &connection->second, error);
    if (code)
        return rowlock__wrap_error(error, code, "second connection");
    if (connection->second)
        rowlock__use_former(connection->second, connection->former);
    *out = connection->second;
    return ROWLOCK_OK;
}

int rowlock_socket(const struct rowlock_connection *connection)
{
    return connection ? connection->driver->socket(connection->link) : -1;
}

int rowlock_ping(struct rowlock_connection *connection, struct rowlock_error *error)
{
    int code = rowlock__ready(connection, ROWLOCK_STATE_ASK, error);

    return code ? code : rowlock__ask(connection, ROWLOCK_SQL_PING, NULL, NULL, NULL, error);
}

/* Wraps the caller's own PGconn, MYSQL, sqlite3 or HDBC as a connection, and returns the native
   handle. */

static int wrap(const char *driver, void *handle, const struct rowlock_options *options,
                struct rowlock_connection **out, struct rowlock_error *error)
{
    if (!handle)
        return rowlock__fail(error, ROWLOCK_EINVAL, "the handle is NULL");
    return rowlock__connect(driver, handle, NULL, options, out, error);
}

static void *handle_of(struct rowlock_connection *connection, const char *driver)
{
    if (!connection || strcmp(connection->transport->name, driver) != 0)
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
