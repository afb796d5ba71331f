/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes the database; errors of all engines. */
#include "store.h"

#include <stdio.h>
#include <string.h>

#ifdef ROWLOCK_WITH_SQLITE
#include "rowlock/sqlite.h"
#endif
#ifdef ROWLOCK_WITH_POSTGRESQL
#include "rowlock/postgresql.h"
#endif
#ifdef ROWLOCK_WITH_MARIADB
#include "rowlock/mariadb.h"
#endif

int store_open(struct store *store, const struct options *options, int stop_fd,
               struct rowlock_error *error)
{
    const struct rowlock_options how = {.interrupt_fd = stop_fd};
    struct rowlock_connection *connection = NULL;
    int code = rowlock_open(options->url, &how, &connection, error);

    *store = (struct store){.connection = connection};
    if (code)
        return code;
#ifdef ROWLOCK_WITH_SQLITE
    if (!store->handle && (store->handle = rowlock_sqlite_handle(connection)))
        store->engine = &engine_sqlite;
#endif
#ifdef ROWLOCK_WITH_POSTGRESQL
    if (!store->handle && (store->handle = rowlock_postgresql_handle(connection)))
        store->engine = &engine_postgresql;
#endif
#ifdef ROWLOCK_WITH_MARIADB
    if (!store->handle && (store->handle = rowlock_mariadb_handle(connection)))
        store->engine = &engine_mariadb;
#endif
    if (store->handle)
        return ROWLOCK_OK;
    store_close(store);
    return store_fail(error, ROWLOCK_EDRIVER, "documents", "built without this engine");
}

void store_close(struct store *store)
{
    if (store->engine && store->engine->close)
        store->engine->close(store);
    rowlock_close(store->connection);
    *store = (struct store){.connection = NULL};
}

int store_fail(struct rowlock_error *error, int code, const char *context, const char *message)
{
    size_t length = strcspn(message, "\n");

    memset(error, 0, sizeof *error);
    error->code = code;
    snprintf(error->text, sizeof error->text, "%s: %.*s", context, (int)length, message);
    return code;
}
