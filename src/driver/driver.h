/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For people who write a driver. A driver is transport: it carries a batch of statements to a
 * database and brings the answers back. It knows no lock and no SQL but COMMIT, ROLLBACK and what
 * it needs to set up a session of its own. What is said to the server is the dialect's (dialect.h).
 *
 * Who implements what: sqlite.c, postgresql*.c, mariadb*.c; all are listed in registry.c and pass
 * the one suite tests/conformance.
 */
#ifndef ROWLOCK_DRIVER_H
#define ROWLOCK_DRIVER_H

#include <stdbool.h>

#include "dialect/dialect.h"
#include "rowlock.h"

enum rowlock_type { ROWLOCK_NULL, ROWLOCK_INT, ROWLOCK_BYTES };

struct rowlock_value {
    enum rowlock_type type;
    int64_t number;    /* INT */
    const char *bytes; /* BYTES; not terminated, sent as they are, never put into a statement */
    size_t length;
};

#define ROWLOCK_COLUMNS 32 /* no result has more */

/* Called once a row, during run(); the columns are valid until it returns. An INT column may come
   as its decimal text in BYTES: rowlock__value_number reads both. */
typedef void rowlock_row(void *data, const struct rowlock_value *columns, unsigned n);

struct rowlock_call {
    const struct rowlock_statement *statement;
    const struct rowlock_value *values; /* statement->parameters of them */
    int64_t limit_ms;                   /* > 0: the server itself is to give up then, if it can */
    rowlock_row *row;                   /* may be NULL */
    void *data;
    int64_t affected; /* out: rows inserted, updated or deleted */
};

enum rowlock_bracket {
    ROWLOCK_INSIDE = 0, /* in the transaction that is open, or each call by itself */
    ROWLOCK_BEGIN = 1,  /* begin before the first call (dialect->begin; NULL: the call begins) */
    ROWLOCK_COMMIT = 2, /* commit after the last */
};

/* What run() may spend. The instant is of the monotonic clock (clock.h). */
struct rowlock_budget {
    int64_t deadline_ms; /* INT64_MAX: none */
    int interrupt_fd;    /* -1: none; readable: give up */
    int64_t
        give_up_ms; /* 0: 2 s after either; else by then at the latest the session is given up */
};

struct rowlock_outcome {
    enum rowlock_transaction left; /* of the transaction; after success KEPT or NONE */
    bool sent_commit;              /* a COMMIT was on its way: with DEAD, outcome unknown */
};

enum rowlock_state {
    ROWLOCK_STATE_IDLE,    /* no transaction is open */
    ROWLOCK_STATE_OPEN,    /* one is */
    ROWLOCK_STATE_ABORTED, /* one is, and accepts only ROLLBACK */
    ROWLOCK_STATE_ASK,     /* the client library cannot tell: the server will */
    ROWLOCK_STATE_DEAD,    /* the connection is lost */
};

struct rowlock_link; /* the driver's own: one session */

/* How a link comes to be: opened by URL (handle NULL), or the caller's own handle. */
struct rowlock_source {
    const char *url;      /* NULL for a handle */
    void *handle;         /* PGconn *, MYSQL *, sqlite3 *: never closed, never prepared on */
    const char *database; /* MariaDB: qualifies every statement; may be NULL */
    int interrupt_fd;     /* that later budgets will carry; -1: none. A driver that could not honour
                             it on this handle refuses now (EINVAL) */
};

struct rowlock_driver {
    const char *name;    /* "postgresql" */
    const char *schemes; /* "postgresql,postgres" */
    /*
     * Connects, or takes the handle over (sends nothing then; EINVAL if it is in no state to be
     * used). On success the link is the caller's to close(). `*dialect` says what it speaks.
     * Blocks until the budget's end. Errors: EINVAL, EDRIVER, ECONN, EDENIED, ECANCELED, ENOMEM.
     */
    int (*open)(const struct rowlock_source *source, const struct rowlock_budget *budget,
                struct rowlock_link **out, const struct rowlock_dialect **dialect,
                struct rowlock_error *error);
    /* Frees the link; closes the session if open() made it. Takes NULL, does not block. */
    void (*close)(struct rowlock_link *link);
    /*
     * Sends the calls in order, stopping at the first that fails; on PostgreSQL in one round trip.
     * Never undoes anything by itself: outcome->left says what the caller has to. When the budget
     * ends it cancels the statement, waits 2 s for the answer (or until give_up_ms, if that comes
     * first), else gives the session up (DEAD):
     * ETIMEDOUT, or ECANCELED if it was the interrupt. A statement of ours may run to its end all
     * the same if it did so before the cancel: then run() succeeds.
     * With n == 0 and ROWLOCK_COMMIT it only commits; EABORTED if the server answered ROLLBACK,
     * EROLLEDBACK if the transaction had been rolled back before.
     * error->native, sqlstate, text and transaction are filled; error->code comes from the failure
     * table (failure.h), by dialect, SQLSTATE and native number.
     */
    int (*run)(struct rowlock_link *link, unsigned bracket, struct rowlock_call *calls, size_t n,
               const struct rowlock_budget *budget, struct rowlock_outcome *outcome,
               struct rowlock_error *error);
    /* ROLLBACK, idempotent. A failure means that the link is dead, and so the transaction. */
    int (*rollback)(struct rowlock_link *link, const struct rowlock_budget *budget,
                    struct rowlock_error *error);
    /* Asks the client library, never the server. */
    enum rowlock_state (*state)(const struct rowlock_link *link);
    /* Runs a script of many statements without parameters: the schema. In the open transaction if
       there is one; how far it is atomic is the engine's affair (DDL commits on MariaDB). */
    int (*script)(struct rowlock_link *link, const char *text, const struct rowlock_budget *budget,
                  struct rowlock_error *error);
    /* May a name be sent as text, or would the session take its bytes for another encoding's? Asked
       before BEGIN_ONE only; NULL where the dialect has none. */
    bool (*speaks_utf8)(const struct rowlock_link *link);
    /* Is what answers no longer the database that was opened? Then what is held there excludes nobody, and every
       run() fails. NULL: it cannot happen. */
    bool (*replaced)(struct rowlock_link *link);
    int (*socket)(const struct rowlock_link *link);     /* -1: none */
    int64_t (*number)(const struct rowlock_link *link); /* of the server session; 0: none */
    void *(*handle)(const struct rowlock_link *link);
};

/* The driver of `url`'s scheme, or of that name. NULL and EDRIVER or EINVAL in `error`. */
const struct rowlock_driver *rowlock__driver_for_url(const char *url, struct rowlock_error *error);
const struct rowlock_driver *rowlock__driver_named(const char *name, struct rowlock_error *error);
/* "sqlite postgresql mariadb": those compiled in. */
const char *rowlock__driver_list(void);

int64_t rowlock__value_number(const struct rowlock_value *value);
struct rowlock_value rowlock__int_value(int64_t number);
struct rowlock_value rowlock__text_value(const char *text); /* NULL: NULL */
struct rowlock_value rowlock__bytes_value(const char *bytes, size_t length);

#endif
