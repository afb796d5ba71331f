/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of the JDBC driver: the session.
 *
 * JDBC calls block; a watch (watch.h) limits them. autocommit is off: the server begins a
 * transaction with the first statement, so the driver itself records whether one is open.
 */
#ifndef ROWLOCK_JDBC_LINK_H
#define ROWLOCK_JDBC_LINK_H

#include <stdbool.h>

#include "driver/driver.h"
#include "driver/jdbc/jvm.h"
#include "driver/watch.h"
#include "rowlock.h"

/* jdbc: URLs. They go to the JDBC driver unchanged; a few are refused. */

/* Of the engines that can also run inside a process: the URLs of their servers. */
#define ROWLOCK_JDBC_DERBY "jdbc:derby://HOST:1527/DATABASE"
#define ROWLOCK_JDBC_H2 "jdbc:h2:tcp://HOST:9092/DATABASE"
#define ROWLOCK_JDBC_HSQLDB "jdbc:hsqldb:hsql://HOST:9001/DATABASE"

/* A URL and the facts about its engine. */
struct rowlock__jdbc_url {
    const char *text;
    const char *engine;  /* the engine's name in the failure table; "": unknown */
    const char *package; /* Debian's package of the JDBC driver; NULL: none */
    const char *jar;     /* the driver's jar, with its path if a package has it; NULL: unknown */
    int port;            /* the server's; 0: unknown, or it may send the client to another one */
    const char *driver;  /* the class of its JDBC driver; NULL: unknown */
};

/* Fails with EINVAL and advice for an embedded database, and for one that rowlock cannot use. `out`
   refers to `url`, which must stay. */
int rowlock__jdbc_url(const char *url, struct rowlock__jdbc_url *out, struct rowlock_error *error);

/* Hides the passwords of the URL in a message. */
void rowlock__jdbc_hide(const struct rowlock__jdbc_url *url, char *message);

/* The differences between engines that the driver must know. */
struct rowlock__jdbc_engine {
    const char *product; /* the name that it reports begins with this */
    const char *name;    /* the engine's in the failure table */
    bool cancels;        /* Statement.cancel ends a wait for a lock */
    /* A setting of each session, or NULL. With H2's WRITE_DELAY a killed server forgets commits. It
       is one of the database, but ends when that is closed; it needs ADMIN. PostgreSQL's driver
       returns from a call only when its cancel has ended, and waits 10 s for a server that hangs:
       longer than the rest of a lease. */
    const char *setting, *value;
    const char *server; /* the only URLs that show a server of it, or NULL: all URLs do */
};

/* Passwords that a message about connecting might show, and that are hidden in it. */
struct rowlock__jdbc_secrets {
    const struct rowlock__jdbc_url *url;
    const char *password; /* from ROWLOCK_PASSWORD_FILE; or NULL */
};

/* A session; open() makes it. One thread uses it at a time; a cancel runs in another one. */
struct rowlock_link {
    const struct rowlock__jdbc_engine *engine;
    struct rowlock_watch *watch;
    void *session; /* the helper's object */
    bool open;     /* a transaction is open */
    bool aborted;  /* that transaction must be rolled back */
    bool dead;
    const struct rowlock__jdbc_secrets *secrets; /* while it connects; else NULL */
    struct rowlock__jdbc_message message;
};

/* session.c */

/* Connects, and finds the engine and its dialect. Blocks until the budget's end, except that the
   start of the JVM, by the first session, and Java's resolver of host names cannot be cut short.
   The caller closes the link, also on failure. EDRIVER: no JVM or no JDBC driver; ECONN, EDENIED,
   ECANCELED; EINVAL: the URL hides an engine that needs a URL of its own form. */
int rowlock__jdbc_connect(struct rowlock_link *link, const struct rowlock__jdbc_url *url,
                          const struct rowlock_budget *budget,
                          const struct rowlock_dialect **dialect, struct rowlock_error *error);
/* Closes the session; an open transaction is rolled back by the server. Frees the link. */
void rowlock__jdbc_close(struct rowlock_link *link);

/* request.c */

/* Shuts the socket down: the server then ends the session and its transaction. The link is dead. */
void rowlock__jdbc_give_up(struct rowlock_link *link);
/* Sends the request in link->message. On success the caller reads the content of the reply there.
   On failure fills `error`, and finds out whether the session is dead. */
int rowlock__jdbc_request(struct rowlock_link *link, struct rowlock_error *error);
/* A request without content: 'c', 'r', 'v'. */
int rowlock__jdbc_order(struct rowlock_link *link, char kind, struct rowlock_error *error);
/* Runs one prepared statement, and passes its rows; sets call->affected. */
int rowlock__jdbc_execute(struct rowlock_link *link, struct rowlock_call *call,
                          struct rowlock_error *error);
/* Reads the failure in link->message into `error`. Returns its code. */
int rowlock__jdbc_failure(struct rowlock_link *link, struct rowlock_error *error);
/* Begins a call under `budget`; rowlock__jdbc_end ends it, and `code` is the result of the call. A
   call that the budget cut off fails with ETIMEDOUT or ECANCELED; one that was done succeeds. */
void rowlock__jdbc_begin(struct rowlock_link *link, const struct rowlock_budget *budget);
int rowlock__jdbc_end(struct rowlock_link *link, int code, struct rowlock_error *error);

#endif
