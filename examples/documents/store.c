/* SPDX-License-Identifier: Apache-2.0 */
/* Which engine a connection belongs to, and what all of them share. */
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

static const struct engine *engine_of(struct rowlock_connection *connection)
{
#ifdef ROWLOCK_WITH_SQLITE
    if (rowlock_sqlite_handle(connection))
        return &engine_sqlite;
#endif
#ifdef ROWLOCK_WITH_POSTGRESQL
    if (rowlock_postgresql_handle(connection))
        return &engine_postgresql;
#endif
#ifdef ROWLOCK_WITH_MARIADB
    if (rowlock_mariadb_handle(connection))
        return &engine_mariadb;
#endif
    (void)connection;
    return NULL;
}

int store_open(struct rowlock_connection *connection, struct store **out,
               struct rowlock_error *error)
{
    const struct engine *engine = engine_of(connection);

    if (!engine)
        return store_fail(error, ROWLOCK_EDRIVER, "documents", "built without this engine");
    return engine->open(connection, out, error);
}

void store_close(struct store *store)
{
    if (store)
        store->engine->close(store);
}

int store_fail(struct rowlock_error *error, int code, const char *context, const char *message)
{
    size_t length;

    memset(error, 0, sizeof *error);
    error->code = code;
    snprintf(error->text, sizeof error->text, "%s: %s", context, message);
    length = strlen(error->text);
    while (length && error->text[length - 1] == '\n')
        error->text[--length] = 0;
    return code;
}

void store_document(struct document *document, const char *id, size_t id_length, int64_t time,
                    const char *body, size_t body_length)
{
    document->id_length = id_length < DOCUMENT_ID_MAX ? id_length : DOCUMENT_ID_MAX;
    memcpy(document->id, id, document->id_length);
    document->id[document->id_length] = 0;
    document->time = time;
    document->body = body;
    document->body_length = body_length;
}
