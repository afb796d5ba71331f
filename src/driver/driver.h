/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a database driver. A driver is transport: it sends a batch of statements to a
 * database and returns the answers. It knows no locks, and no SQL except COMMIT, ROLLBACK and the
 * set-up of its own sessions. The statements come from the dialect (dialect.h).
 *
 * Implementations: sqlite.c, postgresql*.c, mariadb*.c, odbc/, jdbc/; the Makefile lists them.
 * All pass the same test suite, tests/conformance; docs/databases.md has the exceptions.
 */
#ifndef ROWLOCK_DRIVER_H
#define ROWLOCK_DRIVER_H

#include <stdbool.h>
#include <stdio.h>

#include "dialect/dialect.h"
#include "rowlock.h"

enum rowlock_type { ROWLOCK_NULL, ROWLOCK_INT, ROWLOCK_BYTES };

/* A parameter, which the caller keeps during run(), or a column, which the driver keeps. */
struct rowlock_value {
    enum rowlock_type type;
    int64_t number;    /* INT */
    const char *bytes; /* BYTES; not terminated, sent as a bound parameter */
    size_t length;
};

#define ROWLOCK_COLUMNS 48 /* no result has more */

/* Called once per row, during run(), also for rows that precede a failure; the columns are valid
   until it returns. It must not use the link. An INT column may arrive as decimal text in BYTES:
   rowlock__value_number reads both. */
typedef void rowlock_row(void *data, const struct rowlock_value *columns, unsigned n);

/* One statement with its parameters, and the receiver of its rows. */
struct rowlock_call {
    const struct rowlock_statement *statement;
    const struct rowlock_value *values; /* statement->parameters of them */
    int64_t limit_ms;                   /* > 0: a limit for the server to enforce, if it can */
    rowlock_row *row;                   /* may be NULL */
    void *data;
    int64_t affected; /* out: rows inserted, updated or deleted */
};

/* The transaction_flags of run(). */
enum {
    ROWLOCK_INSIDE = 0, /* in the open transaction; without one, several calls must only read */
    ROWLOCK_BEGIN = 1,  /* begin before the first call (dialect->begin; NULL: the call begins) */
    ROWLOCK_COMMIT = 2, /* commit after the last */
    ROWLOCK_ALONE = 4,  /* one call, which commits by itself: its outcome may be unknown */
};

/* The time limits of run(), by the monotonic clock (clock.h). */
struct rowlock_budget {
    int64_t deadline_ms; /* INT64_MAX: none */
    int interrupt_fd;    /* -1: none; readable: give up */
    /* The latest time to close the session after the deadline or an interrupt; 0: after 2 s. */
    int64_t give_up_ms;
};

/* After the end of a budget: the time for the answer to a cancel, and the interval at which the
   cancel is repeated, because one that arrives between two statements is lost. */
#define ROWLOCK_GRACE_MS 2000
#define ROWLOCK_AGAIN_MS 300

/* How run() has left the session, in any case. */
struct rowlock_outcome {
    enum rowlock_transaction left; /* of the transaction; after success KEPT or NONE */
    bool sent_commit;              /* a COMMIT was sent: with DEAD, the outcome is unknown */
};

/* The state of a session, as far as the client library knows it without asking the server. */
enum rowlock_state {
    ROWLOCK_STATE_IDLE,    /* no transaction is open */
    ROWLOCK_STATE_OPEN,    /* a transaction is open */
    ROWLOCK_STATE_ABORTED, /* it is open, but accepts only ROLLBACK */
    ROWLOCK_STATE_ASK,     /* the client library does not know: ask the server */
    ROWLOCK_STATE_DEAD,    /* the connection is lost */
};

struct rowlock_library;
struct rowlock_link; /* a session; each driver defines its own */

/* The origin of a link: opened by URL (handle NULL), or the caller's own handle. */
struct rowlock_source {
    const char *url;      /* NULL for a handle */
    void *handle;         /* PGconn *, MYSQL *, sqlite3 *: never closed, nothing prepared on it */
    const char *database; /* MariaDB: qualifies every statement; may be NULL */
    int interrupt_fd;     /* that later budgets will have; -1: none. A driver that cannot obey it on
                             this handle fails in open() (EINVAL) */
};

/*
 * A driver, constant. A link belongs to one thread at a time; several links may be used at the same
 * time. A function with a parameter `error` (may be NULL) fills it, and returns its code, or 0.
 */
struct rowlock_driver {
    const char *name;    /* "postgresql" */
    const char *schemes; /* of its URLs: "postgresql,postgres" */
    /*
     * Connects, or adopts the handle (then it sends nothing; EINVAL if the handle is not usable
     * now). On success the caller must close() the link. `*dialect` is that of the server.
     * Blocks until the budget's end. Errors: EINVAL, EDRIVER, ECONN, EDENIED, ECANCELED, ENOMEM.
     */
    int (*open)(const struct rowlock_source *source, const struct rowlock_budget *budget,
                struct rowlock_link **out, const struct rowlock_dialect **dialect,
                struct rowlock_error *error);
    /* Frees the link; closes the session if open() made it. Accepts NULL, does not block. */
    void (*close)(struct rowlock_link *link);
    /*
     * Sends the calls in order and stops at the first failure; on PostgreSQL in one round trip.
     * Never rolls back by itself: outcome->left tells the caller whether it must. When the budget
     * ends, it cancels the statement and waits 2 s for the answer (or until give_up_ms, if that is
     * earlier); without an answer it closes the session (DEAD). Result: ETIMEDOUT, or ECANCELED
     * after an interrupt. If the statement finished before the cancel, run() succeeds.
     * With n == 0 and ROWLOCK_COMMIT it only commits; EABORTED if the server answered ROLLBACK,
     * EROLLEDBACK if the transaction had been rolled back before.
     * Fills error->native, sqlstate, text and transaction; error->code comes from the failure table
     * (failure.h), by dialect, SQLSTATE and native number.
     */
    int (*run)(struct rowlock_link *link, unsigned transaction_flags, struct rowlock_call *calls,
               size_t n, const struct rowlock_budget *budget, struct rowlock_outcome *outcome,
               struct rowlock_error *error);
    /* Sends ROLLBACK; does nothing if no transaction is open. After a failure the transaction
       cannot be used; state() reports whether the session can. */
    int (*rollback)(struct rowlock_link *link, const struct rowlock_budget *budget,
                    struct rowlock_error *error);
    /* Asks only the client library; sends nothing to the server. */
    enum rowlock_state (*state)(const struct rowlock_link *link);
    /* Runs a script of many statements without parameters: the schema. It runs in the open
       transaction if there is one. Its atomicity depends on the engine: DDL commits on MariaDB. */
    int (*script)(struct rowlock_link *link, const char *text, const struct rowlock_budget *budget,
                  struct rowlock_error *error);
    /* Whether names and texts can be sent as text, because the session's encoding is UTF-8, and the
       database's lacks no character. NULL if the dialect has no BEGIN_ONE, because only fast paths
       need it. */
    bool (*speaks_utf8)(const struct rowlock_link *link);
    /* Whether the database was deleted or replaced since it was opened. Then a lock in it excludes
       no other process, and every run() fails; one in an open transaction may rely on the last
       call of this function. NULL: impossible for this driver. */
    bool (*replaced)(struct rowlock_link *link);
    /* Only under emulate/: whether to send the single-table statements of the schema's former
       version (plain.h). NULL: the driver has none of its own. */
    void (*use_former)(struct rowlock_link *link, bool former);
    /* The session's socket, for watching whether the server ends it; never read, never closed. -1:
       none, as of a driver without this function. */
    int (*socket)(const struct rowlock_link *link);
    /* The server's id of the session; 0: none. NULL only under emulate/. */
    int64_t (*backend_id)(const struct rowlock_link *link);
    /* The client library's handle, for rowlock_postgresql_handle() and its like; it stays the
       link's. NULL: none. */
    void *(*handle)(const struct rowlock_link *link);
    struct rowlock_library *client; /* of this driver; NULL only with `describe` */
    /* Prints, for people, the client library that was found, or the package to install. Loads the
       library; starts no JVM. Every line after the first begins with four spaces. NULL: prints
       that of `client`. */
    void (*describe)(FILE *out);
    /* The client library with its version, after open(): "libpq 15.6". NULL: unknown. */
    void (*library)(char *out, size_t size);
};

/* The driver for the scheme of `url`, or the driver with that name. On failure they return NULL,
   and `error` has EDRIVER or EINVAL. */
const struct rowlock_driver *rowlock__driver_for_url(const char *url, struct rowlock_error *error);
const struct rowlock_driver *rowlock__driver_named(const char *name, struct rowlock_error *error);
/* "sqlite postgresql mariadb": the drivers of this build. */
const char *rowlock__driver_list(void);
/* Prints a line for each driver, and the databases that were not tested. Loads the libraries. */
void rowlock__describe_drivers(FILE *out);

/* ESERVER if a server's version (may be NULL) is that of a product which speaks a known protocol,
   but cannot keep locks. */
int rowlock__refuse_product(const char *version, struct rowlock_error *error);

/* The outcome of a transaction in that state: `otherwise` if none is open, or the state is ASK. */
enum rowlock_transaction rowlock__left_in(enum rowlock_state state,
                                          enum rowlock_transaction otherwise);
/* When a session is closed whose budget ends now and whose server does not answer: after
   ROWLOCK_GRACE_MS, or at the budget's give_up_ms if that is earlier. */
int64_t rowlock__give_up_ms(const struct rowlock_budget *budget, int64_t now_ms);

/* The number of an INT, or of decimal text in BYTES; 0 for NULL. */
int64_t rowlock__value_number(const struct rowlock_value *value);
/* A row callback: the first column as a number; `data` is an int64_t. */
void rowlock__take_number(void *data, const struct rowlock_value *columns, unsigned n);
/* The outcome that a text names; LOST for NULL and for any other text. */
enum rowlock_run_outcome rowlock__value_outcome(const struct rowlock_value *value);
/* Parameters. They refer to the caller's bytes, which must stay until the call has ended. */
struct rowlock_value rowlock__int_value(int64_t number);
struct rowlock_value rowlock__text_value(const char *text); /* SQL NULL if `text` is NULL */
struct rowlock_value rowlock__bytes_value(const char *bytes, size_t length);

#endif
