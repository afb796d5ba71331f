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

#include "documents.h"
#include "rowlock.h"

struct store {
    const struct engine *engine;
    struct rowlock_connection *connection;
    void *handle;        /* PGconn, MYSQL or sqlite3; belongs to the connection */
    void *statements[3]; /* prepared, if the client library has objects for them */
};

struct version {
    bool registered;
    int64_t time;
};

struct engine {
    const char *create; /* CREATE TABLE IF NOT EXISTS */
    const char *begin;  /* a transaction without a lock */
    int (*execute)(struct store *store, const char *sql, struct rowlock_error *error);
    /* Prepares the statements of the functions below. */
    int (*prepare)(struct store *store, struct rowlock_error *error);
    void (*close)(struct store *store); /* NULL: they end with the session */
    /* The registered version of the id; if `exactly`, only one with the same time and body. */
    int (*read)(struct store *store, const struct document *document, bool exactly,
                struct version *version, struct rowlock_error *error);
    /* Writes the document and commits, in as few round trips as the engine allows. */
    int (*write)(struct store *store, const struct document *document, struct rowlock_error *error);
};

extern const struct engine engine_sqlite, engine_postgresql, engine_mariadb;

int store_open(struct store *store, const struct options *options, int stop_fd,
               struct rowlock_error *error);
void store_close(struct store *store); /* also one that is closed */
int store_fail(struct rowlock_error *error, int code, const char *context, const char *message);

#endif
