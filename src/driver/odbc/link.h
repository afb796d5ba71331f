/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of the ODBC driver: the session, the table of database products, and the
 * calls that may block.
 *
 * A session of ours is in manual commit: the first statement opens a transaction. `work` tracks it,
 * because ODBC cannot report it. A caller's handle in manual commit counts as an open transaction.
 */
#ifndef ROWLOCK_ODBC_LINK_H
#define ROWLOCK_ODBC_LINK_H

#include <stdbool.h>

#include "driver/credentials.h"
#include "driver/driver.h"
#include "driver/odbc/library.h"
#include "driver/watch.h"

/* An option that a driver needs in the connection string: key=value is appended, unless the
   caller's string has one of `keys`. Then its value must be acceptable, else open() fails with
   EINVAL. */
struct rowlock__odbc_option {
    const char *key, *value;
    const char *keys;                   /* its names, separated by commas */
    bool (*accepts)(const char *value); /* whether a value in the caller's string is acceptable */
};

/* Everything that differs from one database product, or its ODBC driver, to the next. */
struct rowlock__odbc_product {
    const char *name;          /* SQL_DBMS_NAME begins with it */
    const char *engine;        /* of the failure table */
    const char *drivers;       /* words in its drivers' names, separated by commas */
    const char *package;       /* Debian's package of the driver */
    const char *const *set_up; /* statements for a session of ours; ends with NULL */
    const struct rowlock__odbc_option *options; /* ends with key NULL; or NULL */
    enum rowlock_transaction left; /* after an error that the failure table leaves open */
    int timeout;                   /* the error number that left_by_timeout judges; 0: none */
    bool cancels;                  /* SQLCancel ends a wait for a lock */
    bool warns;                    /* a warning 01000 means that a COMMIT is not confirmed */
    bool numbers_as_text;          /* the driver knows no 64-bit integers */
    bool wide;                     /* SQL_C_CHAR depends on the process's locale */
};

/* Finds the product by SQL_DBMS_NAME. Never NULL: an unknown product has a row too. */
const struct rowlock__odbc_product *rowlock__odbc_product(const char *name);
/* The same by the name of a driver, its file, or a message that names it. */
const struct rowlock__odbc_product *rowlock__odbc_product_of_driver(const char *driver);

/* The transaction of the session, as the driver itself records it. */
enum rowlock__odbc_work {
    WORK_NONE,
    WORK_OPEN,
    WORK_ABORTED, /* accepts only ROLLBACK */
    WORK_GONE,    /* the engine rolled it back: a COMMIT must fail */
};

struct rowlock__odbc_prepared;

/* A session; open() makes it. One thread uses it at a time; a cancel runs in another one. */
struct rowlock_link {
    SQLHENV env;
    SQLHDBC dbc;
    bool own, dead;      /* opened by URL, else the caller's handle; the session is lost */
    bool connected;      /* SQLDisconnect must be called */
    bool keeps_prepared; /* a statement stays prepared after COMMIT and ROLLBACK */
    bool connecting;     /* open() is under way: the end of its budget becomes ECONN */
    bool autocommits;    /* borrowed: it was in autocommit before our transaction began */
    enum rowlock__odbc_work work;
    enum { TIMEOUT_UNKNOWN, TIMEOUT_KEEPS, TIMEOUT_ROLLS_BACK } timeout; /* MariaDB's error 1205 */
    const struct rowlock__odbc_product *product;
    struct rowlock_watch *watch;
    struct rowlock_budget budget; /* of this run(): rowlock__odbc_arm sets it */
    struct rowlock_watched spent; /* how that ended; CALM: it has not */
    /* messages must not show them: that of the connection string, and that of the file */
    char *passwords[2];
    struct rowlock__odbc_prepared *prepared; /* of a session of ours, if it keeps them */
    size_t n_prepared;
    char *row; /* the columns' texts of one row, while its callback runs */
    size_t row_size;
};

/* call.c */

/* Sets the budget of the following calls. */
void rowlock__odbc_arm(struct rowlock_link *link, const struct rowlock_budget *budget);

/*
 * A call that may block, within link->budget:
 *
 *     rowlock__odbc_begins(link, stmt);
 *     code = rowlock__odbc_ended(link, SQLExecute(stmt), SQL_HANDLE_STMT, stmt, error);
 *
 * At the end of the budget `stmt` is cancelled; where the product's driver cannot cancel, the
 * session is shut down. SQL_NULL_HSTMT: the call cannot be cancelled, and has until give_up_ms to
 * return. rowlock__odbc_ended reads the diagnosis before any other call on the handle, fills
 * `error`, and detects a lost session. ETIMEDOUT, ECANCELED: the budget ended the call; ECONN while
 * connecting.
 */
void rowlock__odbc_begins(struct rowlock_link *link, SQLHSTMT stmt);
int rowlock__odbc_ended(struct rowlock_link *link, SQLRETURN result, SQLSMALLINT kind,
                        SQLHANDLE handle, struct rowlock_error *error);
/* Sets an attribute of the session, as such a call. */
int rowlock__odbc_set(struct rowlock_link *link, SQLINTEGER attribute, SQLULEN value,
                      struct rowlock_error *error);

/* The result of a call that does not block: 0, or its diagnosis in `error`. */
int rowlock__odbc_check(struct rowlock_link *link, SQLRETURN result, SQLSMALLINT kind,
                        SQLHANDLE handle, struct rowlock_error *error);

/* The first diagnosis of a failed call, without the link's passwords. */
struct rowlock__odbc_diagnosis {
    char sqlstate[6]; /* "": none */
    SQLINTEGER native;
    char text[2000]; /* longer than that of an error: a part of a password cannot be hidden */
};
void rowlock__odbc_diagnose(const struct rowlock_link *link, SQLSMALLINT kind, SQLHANDLE handle,
                            struct rowlock__odbc_diagnosis *out);

/* connect.c */

/* Opens a session of ours, and sets it up. `product` gets the server's SQL_DBMS_NAME. The caller
   closes the link, also on failure. */
int rowlock__odbc_connect(struct rowlock_link *link, const char *url,
                          const struct rowlock_budget *budget, char *product, size_t size,
                          struct rowlock_error *error);
/* SQL_DBMS_NAME. EINVAL: the handle is not connected. */
int rowlock__odbc_product_name(struct rowlock_link *link, char *product, size_t size,
                               struct rowlock_error *error);

/* statement.c */

/* Runs one call within link->budget, and passes its rows. */
int rowlock__odbc_call(struct rowlock_link *link, struct rowlock_call *call,
                       struct rowlock_error *error);
/* Runs a text without parameters and discards its rows. */
int rowlock__odbc_text(struct rowlock_link *link, const char *text, size_t length,
                       struct rowlock_error *error);
/* Frees the prepared statements, before the session is closed. */
void rowlock__odbc_forget(struct rowlock_link *link);

/* outcome.c */

/* COMMIT on a product that reports an unconfirmed one by a warning: then ECONN, and the session is
   dead. */
int rowlock__odbc_commit(struct rowlock_link *link, struct rowlock_error *error);
/* The state of the transaction after that failure of a statement: KEPT, ABORTED, GONE. Only a live
   session is asked: on MariaDB one question to the server, once. */
enum rowlock_transaction rowlock__odbc_left(struct rowlock_link *link,
                                            const struct rowlock_error *error);

#endif
