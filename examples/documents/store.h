/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table `document (id, ts, body)` on one engine. The statements are the loader's own and go
 * through the native handle of the rowlock connection: the lock and the work share one transaction.
 *
 * All functions return 0 or a negative ROWLOCK_E code with `error` filled, as rowlock's own do:
 *   ROWLOCK_ECONN        the connection is lost, nothing was committed
 *   ROWLOCK_EUNKNOWN     it was lost while COMMIT was under way
 *   ROWLOCK_EROLLEDBACK  the engine chose this transaction as a victim: do it again
 *   ROWLOCK_EDB          anything else
 */
#ifndef DOCUMENTS_STORE_H
#define DOCUMENTS_STORE_H

#include <stdbool.h>

#include "document.h"
#include "rowlock.h"

/* The store of each engine begins with this. */
struct store {
    const struct engine *engine;
    struct rowlock_connection *connection;
};

struct version {
    bool registered;
    int64_t time;
};

typedef void store_row(void *data, const struct document *document);

struct engine {
    const char *name;
    /* A store of this engine on the connection, still without statements. Sends nothing. */
    int (*open)(struct rowlock_connection *connection, struct store **out,
                struct rowlock_error *error);
    void (*close)(struct store *store);
    /* CREATE TABLE IF NOT EXISTS; DELETE FROM. Each in a transaction of its own. */
    int (*create)(struct store *store, struct rowlock_error *error);
    int (*empty)(struct store *store, struct rowlock_error *error);
    /* Prepares the statements below. */
    int (*prepare)(struct store *store, struct rowlock_error *error);
    /* A transaction without a lock. */
    int (*begin)(struct store *store, struct rowlock_error *error);
    int (*read)(struct store *store, const struct document *document, struct version *version,
                struct rowlock_error *error);
    /* Writes the document and commits, in as few round trips as the engine allows. */
    int (*write)(struct store *store, const struct document *document, struct rowlock_error *error);
    /* All documents, ordered by the bytes of their ids; an id that is too long is cut. */
    int (*each)(struct store *store, store_row *row, void *data, struct rowlock_error *error);
};

extern const struct engine engine_sqlite, engine_postgresql, engine_mariadb;

/* The store for the engine of the connection. */
int store_open(struct rowlock_connection *connection, struct store **out,
               struct rowlock_error *error);
void store_close(struct store *store);

int store_fail(struct rowlock_error *error, int code, const char *context, const char *message);

/* A document for the row of each(): id cut to its room, body by reference. */
void store_document(struct document *document, const char *id, size_t id_length, int64_t time,
                    const char *body, size_t body_length);

#endif
