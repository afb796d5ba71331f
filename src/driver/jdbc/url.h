/* SPDX-License-Identifier: Apache-2.0 */
/* jdbc: URLs. They go to the JDBC driver unchanged; a few are refused. */
#ifndef ROWLOCK_JDBC_URL_H
#define ROWLOCK_JDBC_URL_H

#include "rowlock.h"

struct rowlock__jdbc_url {
    const char *text;
    const char *engine;  /* of the failure table, by the URL; "": unknown */
    const char *package; /* Debian's, that has its JDBC driver; NULL: none */
    const char *jar;     /* that of the package, or its name; NULL: unknown */
    int port;            /* of the server; 0: unknown, or it may pass the client on to another */
    const char *driver;  /* the class of its JDBC driver; NULL: unknown */
};

/* EINVAL, with advice: an embedded database, or one that rowlock cannot use. `out` refers to
   `url`. */
int rowlock__jdbc_url(const char *url, struct rowlock__jdbc_url *out, struct rowlock_error *error);

/* Hides the passwords of the URL in a message. */
void rowlock__jdbc_hide(const struct rowlock__jdbc_url *url, char *message);

#endif
