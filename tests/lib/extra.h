/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Servers that one test needs for itself: a standby, a read-only server, a pooler, a server to
 * kill.
 */
#ifndef TEST_EXTRA_H
#define TEST_EXTRA_H

#include "rowlock.h"

/*
 * Runs lines of bash that can use tests/lib/server.sh, and returns their last line of output in a
 * static buffer. If they fail, the test fails and shows all output. extra_stop stops the servers
 * that they started; otherwise tests/run does.
 */
const char *extra_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the test as not run if this program of PostgreSQL is missing for the server's version. */
void extra_needs(const char *program);
/* The same if the server is older than this version. */
void extra_needs_version(int version);

/* A server name that no other test program uses. */
const char *extra_name(const char *what);
/* Start a server, or a stopped one again, with more options of its program; return the URL of its
   database postgres or test_1. */
const char *extra_postgresql(const char *name, const char *options);
const char *extra_standby(const char *name, const char *primary);
const char *extra_mariadb(const char *name, const char *options);
/* The client program of such a MariaDB, as root; %s is the server's name. */
#define EXTRA_MARIADB_CLIENT \
    "mariadb --no-defaults --socket=$ROWLOCK_TEST_FOLDER/%s/socket -u root "
void extra_stop(const char *name);

/* The URL of pgbouncer in transaction mode before the database under test; it is started on first
   use, and has fewer backends than clients, so that each transaction gets a free one. A connection
   through it, which the harness closes. */
const char *extra_pooled_url(void);
struct rowlock_connection *extra_pooled(const struct rowlock_options *options);

#endif
