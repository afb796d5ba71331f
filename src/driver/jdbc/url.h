/* SPDX-License-Identifier: Apache-2.0 */
/* jdbc: URLs. They go to the JDBC driver unchanged; a few are refused. */
#ifndef ROWLOCK_JDBC_URL_H
#define ROWLOCK_JDBC_URL_H

#include "rowlock.h"

/* Of the engines that can also run inside a process: the URLs of their servers. */
#define ROWLOCK_JDBC_DERBY "jdbc:derby://HOST:1527/DATABASE"
#define ROWLOCK_JDBC_H2 "jdbc:h2:tcp://HOST:9092/DATABASE"
#define ROWLOCK_JDBC_HSQLDB "jdbc:hsqldb:hsql://HOST:9001/DATABASE"

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

#endif
